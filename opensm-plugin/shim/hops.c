/*
 * Hop counts between switches, which OpenSM's multicast and its SA use: the numbers that OpenSM computes itself, sooner.
 * OpenSM lets neighbours tell each other what they know until nobody learns anything more; one breadth-first search from
 * each switch gives the same. What this does not know how to count is left to OpenSM.
 */
#include <stdlib.h>
#include <string.h>
#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>
#include "hops.h"

#define OPENSMS_OWN 1
#define NOBODY UINT32_MAX
/* Far below OSM_NO_PATH, so that nothing overflows. */
#define FARTHEST 250

struct switches {
	uint32_t count;
	osm_switch_t **of;
	/* By switch: where its ports begin in `peer`, at their numbers. */
	uint32_t *first;
	/* By port: the switch at the other end, or NOBODY. */
	uint32_t *peer;
	/* By switch and switch: hops, or OSM_NO_PATH. */
	uint8_t *hops;
	uint32_t *queue;
};

static void release(struct switches *all)
{
	free(all->of);
	free(all->first);
	free(all->peer);
	free(all->hops);
	free(all->queue);
}

static int allot(struct switches *all, cl_qmap_t *table)
{
	cl_map_item_t *item;
	uint32_t ports = 0, at = 0;

	all->count = cl_qmap_count(table);
	all->of = calloc(all->count + 1, sizeof(*all->of));
	all->first = calloc(all->count + 1, sizeof(*all->first));
	all->queue = calloc(all->count + 1, sizeof(*all->queue));
	all->hops = malloc((size_t) all->count * all->count + 1);
	if (!all->of || !all->first || !all->queue || !all->hops)
		return -1;
	for (item = cl_qmap_head(table); item != cl_qmap_end(table); item = cl_qmap_next(item), at++) {
		all->of[at] = (osm_switch_t *) item;
		all->first[at] = ports;
		ports += all->of[at]->num_ports;
	}
	all->peer = malloc((ports + 1) * sizeof(*all->peer));
	return all->peer ? 0 : -1;
}

/* Switches come out of OpenSM's map in the order of their keys, which are GUIDs in network order. */
static uint32_t index_of(const struct switches *all, const osm_switch_t *wanted)
{
	ib_net64_t guid = osm_node_get_node_guid(wanted->p_node);
	uint32_t low = 0, high = all->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (all->of[middle] == wanted)
			return middle;
		if (osm_node_get_node_guid(all->of[middle]->p_node) < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return NOBODY;
}

/* Less than 0 where a link is not healthy: OpenSM counts some of its hops and not others. */
static int find_peers(struct switches *all)
{
	uint32_t at;
	uint8_t num;

	for (at = 0; at < all->count; at++) {
		for (num = 0; num < all->of[at]->num_ports; num++) {
			osm_physp_t *physp = num ? osm_node_get_physp_ptr(all->of[at]->p_node, num) : NULL;
			osm_node_t *other = physp && physp->p_remote_physp ? physp->p_remote_physp->p_node : NULL;
			uint32_t *peer = &all->peer[all->first[at] + num];

			*peer = NOBODY;
			if (physp)
				physp->hop_wf = 1;
			if (!other || !other->sw || other->sw == all->of[at])
				continue;
			*peer = index_of(all, other->sw);
			if (*peer == NOBODY || !osm_link_is_healthy(physp))
				return -1;
		}
	}
	return 0;
}

/* Hops from every switch to one. */
static int search(struct switches *all, uint32_t from)
{
	uint8_t *hops = all->hops + (size_t) from * all->count;
	uint32_t begin = 0, end = 0;
	uint8_t num;

	memset(hops, OSM_NO_PATH, all->count);
	hops[from] = 0;
	all->queue[end++] = from;
	while (begin < end) {
		uint32_t at = all->queue[begin++];
		const uint32_t *peer = all->peer + all->first[at];

		if (hops[at] >= FARTHEST)
			return -1;
		for (num = 1; num < all->of[at]->num_ports; num++) {
			if (peer[num] == NOBODY || hops[peer[num]] != OSM_NO_PATH)
				continue;
			hops[peer[num]] = hops[at] + 1;
			all->queue[end++] = peer[num];
		}
	}
	return 0;
}

/* One switch's matrix: to each switch's LID, by each port that leads to a switch. */
static int hand_over(struct switches *all, uint32_t at)
{
	osm_switch_t *sw = all->of[at];
	const uint32_t *peer = all->peer + all->first[at];
	uint32_t to;
	uint8_t num;

	for (to = 0; to < all->count; to++) {
		uint16_t lid = cl_ntoh16(osm_node_get_base_lid(all->of[to]->p_node, 0));
		const uint8_t *hops = all->hops + (size_t) to * all->count;

		if (hops[at] == OSM_NO_PATH)
			continue;
		if (to == at && osm_switch_set_hops(sw, lid, 0, 0))
			return -1;
		for (num = 1; num < sw->num_ports; num++)
			if (peer[num] != NOBODY && osm_switch_set_hops(sw, lid, num, hops[peer[num]] + 1))
				return -1;
	}
	return 0;
}

int reconfig_count_hops(osm_opensm_t *osm)
{
	struct switches all;
	int result = OPENSMS_OWN;
	uint32_t at;

	if (osm->subn.opt.hop_weights_file)
		return OPENSMS_OWN;
	memset(&all, 0, sizeof(all));
	if (allot(&all, &osm->subn.sw_guid_tbl) || find_peers(&all))
		goto end;
	for (at = 0; at < all.count; at++)
		if (search(&all, at))
			goto end;
	for (at = 0; at < all.count; at++)
		if (hand_over(&all, at))
			goto end;
	result = 0;
end:
	release(&all);
	return result;
}
