/*
 * OpenSM's side of the engine: its structures into plain ones, and tables back. Compiled against the headers of the
 * OpenSM that loads it, so nobody declares its structures twice. Decides nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <opensm/osm_config.h>
#include <opensm/osm_version.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_log.h>
#include "hops.h"
#include "multicast.h"
#include "shim.h"

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "this OpenSM has another plugin interface than version 2: the shim must be adapted to it"
#endif

#define BLOCK IB_SMP_DATA_SIZE
/* A port number that no switch has: what a block holds until the switch has answered. */
#define UNREAD 0xFE
/* How long reading may go on without any progress. */
#define STALLED_MS 10000
/* Reads on their way at a time: OpenSM queues them, so this bounds its memory, not the wire. */
#define READS 4096

struct plugin {
	osm_opensm_t *osm;
	void *engine;
};

/* Every pointer that OpenSM keeps to a part of its own structure must be where the headers say that the part is. */
static int is_laid_out_as_compiled(const osm_opensm_t *osm)
{
	return osm->subn.p_osm == osm && osm->sm.p_subn == &osm->subn && osm->sm.p_log == &osm->log &&
	    osm->sm.p_lock == &osm->lock && osm->vl15.p_stats == &osm->stats;
}

void reconfig_log(void *osm, int level, const char *text)
{
	osm_log_level_t levels[] = { OSM_LOG_ERROR, OSM_LOG_INFO, OSM_LOG_VERBOSE };

	osm_log(&((osm_opensm_t *) osm)->log, levels[level], "reconfig: %s\n", text);
}

/* The thread that calls takes the processor when nobody else wants it: Linux counts niceness by thread. */
void reconfig_stand_back(void)
{
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), 10);
}

/* Another run of the routing alone, as the console's `reroute` asks for it. */
void reconfig_sweep(void *context)
{
	osm_opensm_t *osm = context;

	osm->subn.force_reroute = TRUE;
	osm_opensm_sweep(osm);
}

void reconfig_sweep_all(void *context)
{
	osm_opensm_t *osm = context;

	osm->subn.force_heavy_sweep = TRUE;
	osm_opensm_sweep(osm);
}

static uint8_t speed_of(osm_physp_t *physp)
{
	uint8_t extended = ib_port_info_get_link_speed_ext_active(&physp->port_info);

	/* Bits 0 to 2 are SDR, DDR and QDR, the extended ones follow; FDR10 is of Mellanox's own attribute. */
	if (extended)
		return extended << 4;
	if (physp->ext_port_info.link_speed_active & FDR10)
		return 1 << 3;
	return ib_port_info_get_link_speed_active(&physp->port_info);
}

static void free_fabric(struct reconfig_fabric *fabric)
{
	uint32_t i;

	for (i = 0; fabric->nodes && i < fabric->node_count; i++)
		free(fabric->nodes[i].blocks);
	free(fabric->nodes);
	free(fabric->ports);
	memset(fabric, 0, sizeof(*fabric));
}

static int describe_switch(struct reconfig_node *node, osm_switch_t *sw)
{
	node->enhanced = ib_switch_info_is_enhanced_port0(&sw->switch_info) ? 1 : 0;
	node->reset = sw->need_update ? 1 : 0;
	node->lft_capacity = cl_ntoh16(sw->switch_info.lin_cap);
	node->lft_top = cl_ntoh16(sw->switch_info.lin_top);
	node->lft_size = sw->lft_size;
	node->lft = sw->lft;
	node->wanted_lft = sw->new_lft;
	node->blocks = calloc(sw->lft_size / BLOCK + 1, 1);
	return node->blocks ? 0 : -1;
}

static uint32_t index_of(const struct reconfig_fabric *fabric, ib_net64_t guid)
{
	uint32_t low = 0, high = fabric->node_count;
	uint64_t wanted = cl_ntoh64(guid);

	/* Nodes come out of OpenSM's map in the order of their keys, which are GUIDs in network order. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		ib_net64_t held = cl_hton64(fabric->nodes[middle].guid);

		if (fabric->nodes[middle].guid == wanted)
			return middle;
		if (held < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return RECONFIG_NO_PEER;
}

static void describe_port(osm_opensm_t *osm, struct reconfig_fabric *fabric, struct reconfig_port *port,
			  osm_physp_t *physp)
{
	uint32_t peer;

	port->guid = cl_ntoh64(physp->port_guid);
	port->lid = cl_ntoh16(osm_physp_get_base_lid(physp));
	port->lmc = ib_port_info_get_lmc(&physp->port_info);
	port->state = ib_port_info_get_port_state(&physp->port_info);
	port->width = physp->port_info.link_width_active;
	port->speed = speed_of(physp);
	if (!physp->p_remote_physp || !osm_link_is_healthy(physp))
		return;
	port->op_vls = osm_physp_calc_link_op_vls(&osm->log, &osm->subn, physp,
						  ib_port_info_get_op_vls(&physp->port_info));
	peer = index_of(fabric, osm_node_get_node_guid(physp->p_remote_physp->p_node));
	if (peer != RECONFIG_NO_PEER)
		port->peer = fabric->nodes[peer].first_port + physp->p_remote_physp->port_num;
}

static int count_nodes(osm_opensm_t *osm, struct reconfig_fabric *fabric)
{
	cl_qmap_t *table = &osm->subn.node_guid_tbl;
	cl_map_item_t *item;
	uint32_t i = 0;

	fabric->node_count = cl_qmap_count(table);
	fabric->nodes = calloc(fabric->node_count + 1, sizeof(*fabric->nodes));
	if (!fabric->nodes)
		return -1;
	for (item = cl_qmap_head(table); item != cl_qmap_end(table); item = cl_qmap_next(item), i++) {
		osm_node_t *from = (osm_node_t *) item;
		struct reconfig_node *node = &fabric->nodes[i];

		node->guid = cl_ntoh64(osm_node_get_node_guid(from));
		node->name = from->print_desc;
		node->kind = osm_node_get_type(from);
		node->num_ports = osm_node_get_num_physp(from) - 1;
		node->first_port = fabric->port_count;
		fabric->port_count += node->num_ports + 1u;
		if (from->sw && describe_switch(node, from->sw))
			return -1;
	}
	fabric->ports = calloc(fabric->port_count + 1, sizeof(*fabric->ports));
	return fabric->ports ? 0 : -1;
}

/* How many service levels a list of VLs, one for each level from 0 up, puts on the VL of their number before it strays. */
static uint8_t count_plain(const osm_qos_options_t *own, const osm_qos_options_t *all)
{
	const char *text = own->sl2vl ? own->sl2vl : all->sl2vl ? all->sl2vl : OSM_DEFAULT_QOS_SL2VL;
	uint8_t sl;

	for (sl = 0; sl < IB_MAX_NUM_VLS; sl++) {
		char *end;

		if (strtoul(text, &end, 0) != sl || end == text)
			return sl;
		if (*end != ',')
			return sl + 1;
		text = end + 1;
	}
	return sl;
}

/* The same on all ports. Without QoS OpenSM programs nothing, and one level is as good as another. */
static uint8_t count_plain_levels(const osm_subn_opt_t *opt)
{
	const osm_qos_options_t *kinds[] = { &opt->qos_ca_options, &opt->qos_sw0_options, &opt->qos_swe_options,
		&opt->qos_rtr_options };
	uint8_t least = IB_MAX_NUM_VLS, i;

	if (!opt->qos)
		return 1;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint8_t count = count_plain(kinds[i], &opt->qos_options);

		least = count < least ? count : least;
	}
	return least;
}

/* OpenSM's view. Its lock is held. */
static int describe(osm_opensm_t *osm, struct reconfig_fabric *fabric)
{
	cl_qmap_t *table = &osm->subn.node_guid_tbl;
	cl_map_item_t *item;
	uint32_t i = 0;

	memset(fabric, 0, sizeof(*fabric));
	if (count_nodes(osm, fabric)) {
		free_fabric(fabric);
		return -1;
	}
	for (item = cl_qmap_head(table); item != cl_qmap_end(table); item = cl_qmap_next(item), i++) {
		osm_node_t *from = (osm_node_t *) item;
		uint32_t num;

		for (num = 0; num <= fabric->nodes[i].num_ports; num++) {
			struct reconfig_port *port = &fabric->ports[fabric->nodes[i].first_port + num];
			osm_physp_t *physp = osm_node_get_physp_ptr(from, num);

			port->peer = RECONFIG_NO_PEER;
			if (physp)
				describe_port(osm, fabric, port, physp);
		}
	}
	fabric->sm_port_guid = cl_ntoh64(osm->subn.sm_port_guid);
	fabric->max_lid = cl_ptr_vector_get_size(&osm->subn.port_lid_tbl) ?
	    cl_ptr_vector_get_size(&osm->subn.port_lid_tbl) - 1 : 0;
	fabric->life_time = osm->subn.opt.packet_life_time;
	fabric->plain_levels = count_plain_levels(&osm->subn.opt);
	return 0;
}

/* Waits until OpenSM has no MAD of subnet management on its way. */
static void wait_for_answers(osm_opensm_t *osm)
{
	struct timespec pause = { 0, 200000 };
	int32_t last = -1;
	unsigned idle_us = 0;

	while (idle_us < STALLED_MS * 1000u) {
		int32_t now = osm->stats.qp0_mads_outstanding;

		if (now <= 0)
			return;
		idle_us = now == last ? idle_us + 200 : 0;
		last = now;
		nanosleep(&pause, NULL);
	}
}

static unsigned ask_for_blocks(osm_opensm_t *osm, osm_switch_t *sw, const struct reconfig_node *node)
{
	osm_physp_t *physp = osm_node_get_physp_ptr(sw->p_node, 0);
	osm_madw_context_t context;
	uint32_t block;
	unsigned asked = 0;

	memset(&context, 0, sizeof(context));
	context.lft_context.node_guid = osm_node_get_node_guid(sw->p_node);
	context.lft_context.set_method = FALSE;
	for (block = 0; physp && block < sw->lft_size / BLOCK; block++) {
		if (node->blocks[block] != RECONFIG_BLOCK_WANTED)
			continue;
		memset(sw->lft + block * BLOCK, UNREAD, BLOCK);
		/* What cannot be sent stays unread, and is reported as such. */
		if (osm_req_get(&osm->sm, osm_physp_get_dr_path_ptr(physp), IB_MAD_ATTR_LIN_FWD_TBL,
				cl_hton32(block), TRUE, 0, 0, CL_DISP_MSGID_NONE, &context) == IB_SUCCESS)
			asked++;
	}
	return asked;
}

/* Blocks that stayed unread are named, and hold what OpenSM holds of a block whose writing failed: zeros. */
static void find_silent(osm_switch_t *sw, struct reconfig_node *node)
{
	uint32_t block, entry;

	for (block = 0; block < sw->lft_size / BLOCK; block++) {
		uint8_t *held = sw->lft + block * BLOCK;

		if (node->blocks[block] != RECONFIG_BLOCK_WANTED)
			continue;
		for (entry = 0; entry < BLOCK && held[entry] == UNREAD; entry++) ;
		node->blocks[block] = entry == BLOCK ? RECONFIG_BLOCK_SILENT : RECONFIG_BLOCK_KNOWN;
		if (entry == BLOCK)
			memset(held, 0, BLOCK);
	}
}

/*
 * Reads what our side marked. Answers are taken in by OpenSM's own handler, which needs the lock; meanwhile the
 * administration goes by what is in force, so what is wanted holds that.
 */
static int read_blocks(osm_opensm_t *osm, struct reconfig_fabric *fabric)
{
	uint32_t i;
	unsigned asked = 0;

	for (i = 0; i < fabric->node_count; i++) {
		osm_switch_t *sw = osm_get_switch_by_guid(&osm->subn, cl_hton64(fabric->nodes[i].guid));

		if (!fabric->nodes[i].lft || !sw || sw->lft != fabric->nodes[i].lft)
			continue;
		asked += ask_for_blocks(osm, sw, &fabric->nodes[i]);
		if (asked < READS && i + 1 < fabric->node_count)
			continue;
		CL_PLOCK_RELEASE(&osm->lock);
		wait_for_answers(osm);
		CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
		asked = 0;
	}
	CL_PLOCK_RELEASE(&osm->lock);
	wait_for_answers(osm);
	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	for (i = 0; i < fabric->node_count; i++) {
		osm_switch_t *sw = osm_get_switch_by_guid(&osm->subn, cl_hton64(fabric->nodes[i].guid));

		if (!fabric->nodes[i].lft)
			continue;
		if (!sw || sw->lft != fabric->nodes[i].lft)
			return -1;	/* the sweep that comes sees it anew */
		find_silent(sw, &fabric->nodes[i]);
	}
	return cl_qmap_count(&osm->subn.node_guid_tbl) == fabric->node_count ? 0 : -1;
}

/* Writes the blocks that differ, by the requests that OpenSM makes for them; its own handler takes in the answers. */
static unsigned send_blocks(osm_opensm_t *osm, osm_switch_t *sw)
{
	osm_physp_t *physp = osm_node_get_physp_ptr(sw->p_node, 0);
	osm_madw_context_t context;
	uint32_t block;
	unsigned sent = 0;

	memset(&context, 0, sizeof(context));
	context.lft_context.node_guid = osm_node_get_node_guid(sw->p_node);
	context.lft_context.set_method = TRUE;
	for (block = 0; physp && block < sw->lft_size / BLOCK; block++) {
		uint8_t *held = sw->lft + block * BLOCK, *wanted = sw->new_lft + block * BLOCK;

		if (!memcmp(held, wanted, BLOCK))
			continue;
		/* As OpenSM does: a write that fails leaves what nobody takes for what the switch holds. */
		memset(held, 0, BLOCK);
		if (osm_req_set(&osm->sm, osm_physp_get_dr_path_ptr(physp), wanted, BLOCK, IB_MAD_ATTR_LIN_FWD_TBL,
				cl_hton32(block), FALSE, ib_port_info_get_m_key(&physp->port_info), 0,
				CL_DISP_MSGID_NONE, &context) == IB_SUCCESS)
			sent++;
	}
	return sent;
}

/*
 * Writes what is wanted now, where something is to follow at once, and waits until all of it is acknowledged. Not where OpenSM has
 * to raise the top of a table before its entries count: it writes this itself then.
 */
static int write_part(osm_opensm_t *osm, const struct reconfig_fabric *fabric)
{
	uint32_t i;
	unsigned sent = 0;

	for (i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].lft && fabric->nodes[i].lft_top < fabric->max_lid)
			return -1;
	for (i = 0; i < fabric->node_count; i++) {
		osm_switch_t *sw = osm_get_switch_by_guid(&osm->subn, cl_hton64(fabric->nodes[i].guid));

		if (fabric->nodes[i].lft && sw && sw->lft == fabric->nodes[i].lft)
			sent += send_blocks(osm, sw);
		if (sent < READS && i + 1 < fabric->node_count)
			continue;
		CL_PLOCK_RELEASE(&osm->lock);
		wait_for_answers(osm);
		CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
		sent = 0;
	}
	return 0;
}

static void hold_what_is_in_force(struct reconfig_fabric *fabric)
{
	uint32_t i;

	for (i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].lft)
			memcpy(fabric->nodes[i].wanted_lft, fabric->nodes[i].lft, fabric->nodes[i].lft_size);
}

/* One run of the engine: 0, less than 0 where it failed, or 1 where what it said is written and another run is due. */
static int run_engine(struct plugin *plugin)
{
	struct reconfig_fabric fabric;
	int64_t unsure;
	int result = -1;

	if (describe(plugin->osm, &fabric)) {
		reconfig_log(plugin->osm, RECONFIG_LEVEL_ERROR, "out of memory: nothing is routed");
		return -1;
	}
	hold_what_is_in_force(&fabric);
	unsure = reconfig_unsure(plugin->engine, &fabric);
	if (unsure > 0 && read_blocks(plugin->osm, &fabric)) {
		reconfig_log(plugin->osm, RECONFIG_LEVEL_ERROR,
			     "the subnet changed while forwarding tables were read: nothing is routed before the next sweep");
		free_fabric(&fabric);
		return -1;
	}
	if (unsure >= 0)
		result = reconfig_route(plugin->engine, &fabric);
	if (result > 0)
		result = write_part(plugin->osm, &fabric) ? 0 : 1;
	free_fabric(&fabric);
	return result;
}

/* Less than 0 is a failure; more than 0 would have OpenSM route by minhop, and is never returned. */
static int build_tables(void *context)
{
	struct plugin *plugin = context;
	int result;

	/* Another master may have written since; OpenSM keeps what it wrote before. */
	if (plugin->osm->subn.coming_out_of_standby)
		reconfig_event(plugin->engine, RECONFIG_EVENT_TAKEN_OVER);
	do
		result = run_engine(plugin);
	while (result > 0);
	return result < 0 ? -1 : 0;
}

/* More than 0 has OpenSM count. */
static int count_hops(void *context)
{
	return reconfig_count_hops(((struct plugin *) context)->osm);
}

static ib_api_status_t build_tree(void *context, osm_mgrp_box_t *box)
{
	struct plugin *plugin = context;

	return reconfig_build_tree(plugin->osm, plugin->engine, box);
}

static uint8_t path_sl(void *context, uint8_t hint, const ib_net16_t slid, const ib_net16_t dlid)
{
	struct plugin *plugin = context;

	return reconfig_path_sl(plugin->engine, hint, cl_ntoh16(slid), cl_ntoh16(dlid));
}

/* `engine->context` is the plugin. */
static int set_up(osm_routing_engine_t *engine, osm_opensm_t *osm)
{
	struct plugin *plugin = engine->context;

	if (osm->subn.opt.use_ucast_cache) {
		reconfig_log(osm, RECONFIG_LEVEL_ERROR,
			     "use_ucast_cache has OpenSM write tables that it kept without asking any engine: set it to FALSE");
		return -1;
	}
	engine->build_lid_matrices = count_hops;
	engine->ucast_build_fwd_tables = build_tables;
	if (reconfig_gives_levels(plugin->engine))
		engine->path_sl = path_sl;
	/* Without it OpenSM builds the trees. */
	if (reconfig_orders_trees(plugin->engine))
		engine->mcast_build_stree = build_tree;
	return 0;
}

static void destroy(void *context)
{
	struct plugin *plugin = context;

	reconfig_stop(plugin->engine);
	free(plugin);
}

static void *construct(osm_opensm_t *osm)
{
	struct plugin *plugin;
	external_routing_engine_module_t module = { "reconfig", set_up, NULL };

	if (!is_laid_out_as_compiled(osm)) {
		osm_log(&osm->log, OSM_LOG_ERROR, "reconfig: OpenSM's structures are not laid out as in the headers of "
			"the build: build the plugin against this OpenSM (%s)\n", OSM_VERSION);
		return NULL;
	}
	plugin = calloc(1, sizeof(*plugin));
	if (!plugin)
		return NULL;
	plugin->osm = osm;
	plugin->engine = reconfig_start(osm, osm->subn.opt.event_plugin_options, cl_ntoh64(osm->subn.opt.guid));
	if (!plugin->engine ||
	    osm_register_external_routing_engine(osm, &module, plugin) != CL_SUCCESS) {
		reconfig_log(osm, RECONFIG_LEVEL_ERROR, "the routing engine could not be registered");
		destroy(plugin);
		return NULL;
	}
	return plugin;
}

static void report(void *context, osm_epi_event_id_t event, void *data)
{
	struct plugin *plugin = context;

	switch (event) {
	case OSM_EVENT_ID_HEAVY_SWEEP_START:
		reconfig_event(plugin->engine, RECONFIG_EVENT_HEAVY_SWEEP);
		break;
	case OSM_EVENT_ID_UCAST_ROUTING_DONE:
		reconfig_event(plugin->engine, RECONFIG_EVENT_WRITTEN);
		break;
	case OSM_EVENT_ID_SUBNET_UP:
		reconfig_event(plugin->engine, RECONFIG_EVENT_SUBNET_UP);
		break;
	default:
		break;
	}
	(void)data;
}

osm_event_plugin_t osm_event_plugin = { OSM_VERSION, construct, destroy, report };

const void *reconfig_plugin(void)
{
	return &osm_event_plugin;
}
