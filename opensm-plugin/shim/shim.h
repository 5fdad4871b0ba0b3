/* What crosses between OpenSM's side and ours: plain structures, mirrored in src/plain.rs, with which the build
 * compares them. OpenSM's own never cross. */
#ifndef RECONFIG_SHIM_H
#define RECONFIG_SHIM_H

#include <stdint.h>

#define RECONFIG_NO_PEER UINT32_MAX

/* A port; `peer` is the index of the port at the other end of a healthy link, RECONFIG_NO_PEER without one. */
struct reconfig_port {
	uint64_t guid;
	uint32_t peer;
	uint16_t lid;
	uint8_t lmc;
	uint8_t state;
	uint8_t width;
	uint8_t speed;
	uint8_t op_vls;		/* PortInfo:OperationalVLs that OpenSM programs; 0 without a link */
};

/* A block of a forwarding table: what is known of it, and what is wanted. */
enum reconfig_block {
	RECONFIG_BLOCK_KNOWN = 0,	/* `lft` holds what the switch holds */
	RECONFIG_BLOCK_WANTED = 1,	/* set by our side: read it from the switch */
	RECONFIG_BLOCK_SILENT = 2	/* the switch did not say */
};

/* A node; `first_port` is the index of its port 0, which only switches have for more than counting. */
struct reconfig_node {
	uint64_t guid;
	const char *name;
	uint32_t first_port;
	uint8_t kind;
	uint8_t num_ports;
	uint8_t enhanced;
	uint8_t reset;		/* OpenSM takes it for reset: it writes every block */
	uint16_t lft_capacity;
	uint16_t lft_top;
	uint32_t lft_size;	/* entries of `lft` and `wanted_lft`; blocks are 64 of them */
	const uint8_t *lft;	/* as OpenSM has it; none for other nodes than switches */
	uint8_t *wanted_lft;	/* what OpenSM is to write */
	uint8_t *blocks;	/* by block, enum reconfig_block */
};

struct reconfig_fabric {
	struct reconfig_node *nodes;
	struct reconfig_port *ports;
	uint32_t node_count;
	uint32_t port_count;
	uint64_t sm_port_guid;
	uint16_t max_lid;
	uint8_t life_time;	/* SwitchInfo:LifeTimeValue that OpenSM programs */
	uint8_t plain_levels;	/* service levels from 0 up that OpenSM puts on the VL of their number everywhere */
};

/* A switch's row of a multicast table: a bit for each port, the lowest of the first byte for port 0. */
struct reconfig_tree {
	uint64_t guid;
	uint16_t mlid;
	uint8_t ports[32];
	uint8_t reserved[6];
};

/* Where a member of a group is attached: a port of a switch, or port 0 of the switch that is one. */
struct reconfig_member {
	uint64_t guid;
	uint8_t port;
	uint8_t reserved[7];
};

enum reconfig_event {
	RECONFIG_EVENT_HEAVY_SWEEP = 0,
	RECONFIG_EVENT_WRITTEN = 1,
	RECONFIG_EVENT_SUBNET_UP = 2,
	RECONFIG_EVENT_TAKEN_OVER = 3	/* OpenSM was standby, and is master from now on */
};

enum reconfig_level {
	RECONFIG_LEVEL_ERROR = 0,
	RECONFIG_LEVEL_INFO = 1,
	RECONFIG_LEVEL_VERBOSE = 2
};

/* Defined in Rust. `engine` is what reconfig_start returned; none of them unwinds. `port` is the GUID of the port that OpenSM
 * was told to run on, 0 where it chooses one. */
void *reconfig_start(void *osm, const char *options, uint64_t port);
void reconfig_stop(void *engine);
/* Marks blocks that must be read before reconfig_route; returns how many, less than 0 where it failed. */
int64_t reconfig_unsure(void *engine, struct reconfig_fabric *fabric);
/* Fills `wanted_lft` of every switch; 0, or less than 0 where it failed and filled none, or 1 where more follows as
 * soon as that is written: whoever calls writes it and calls again, or leaves it to OpenSM and a run that is asked for. */
int reconfig_route(void *engine, struct reconfig_fabric *fabric);
void reconfig_event(void *engine, int event);
/* Whether hosts are told service levels by source and destination; and such a level, `hint` where there is none. */
int reconfig_gives_levels(void *engine);
uint8_t reconfig_path_sl(void *engine, uint8_t hint, uint16_t slid, uint16_t dlid);
/* Whether our side builds the trees of multicast groups. */
int reconfig_orders_trees(void *engine);
/* Marks the ports of a group's tree in the rows, one for each switch that may take part; 0, or less than 0. */
int reconfig_order_tree(void *engine, const struct reconfig_member *members, uint32_t member_count,
			struct reconfig_tree *rows, uint32_t row_count);

/* Defined in C. */
void reconfig_log(void *osm, int level, const char *text);
void reconfig_sweep(void *osm);
/* Another whole sweep, multicast included. */
void reconfig_sweep_all(void *osm);
void reconfig_stand_back(void);
/* The rows that OpenSM's multicast tables hold; how many, or less than 0. Takes OpenSM's lock. */
int64_t reconfig_read_trees(void *osm, struct reconfig_tree **rows);
void reconfig_free_trees(struct reconfig_tree *rows);
/* Here only so that the object file is linked. */
const void *reconfig_plugin(void);

#endif
