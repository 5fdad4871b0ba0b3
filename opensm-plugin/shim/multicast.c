/* OpenSM's multicast tables and groups into plain structures, and trees back into its tables. Decides nothing. */
#include <stdlib.h>
#include <string.h>
#include <opensm/osm_config.h>
#include "multicast.h"
/* Its own header names types of others. */
#include <opensm/osm_mcast_mgr.h>
#include <opensm/osm_mcast_tbl.h>

static void mark(struct reconfig_tree *row, uint8_t num)
{
	row->ports[num / 8] |= 1u << num % 8;
}

static int is_marked(const struct reconfig_tree *row, uint8_t num)
{
	return row->ports[num / 8] >> num % 8 & 1;
}

/* Tells the rows of all switches that have any port of a group; returns how many. Without `rows` it only counts. */
static uint32_t read_trees(osm_opensm_t *osm, struct reconfig_tree *rows)
{
	cl_qmap_t *table = &osm->subn.sw_guid_tbl;
	cl_map_item_t *item;
	uint32_t count = 0;

	for (item = cl_qmap_head(table); item != cl_qmap_end(table); item = cl_qmap_next(item)) {
		osm_switch_t *sw = (osm_switch_t *) item;
		uint32_t mlid, num;

		if (!sw->mcast_tbl.p_mask_tbl)
			continue;
		for (mlid = IB_LID_MCAST_START_HO; mlid <= sw->mcast_tbl.max_mlid_ho; mlid++) {
			if (!osm_mcast_tbl_is_any_port(&sw->mcast_tbl, mlid))
				continue;
			if (rows) {
				struct reconfig_tree *row = &rows[count];

				memset(row, 0, sizeof(*row));
				row->guid = cl_ntoh64(osm_node_get_node_guid(sw->p_node));
				row->mlid = mlid;
				for (num = 0; num < sw->num_ports; num++)
					if (osm_mcast_tbl_is_port(&sw->mcast_tbl, mlid, num))
						mark(row, num);
			}
			count++;
		}
	}
	return count;
}

int64_t reconfig_read_trees(void *context, struct reconfig_tree **rows)
{
	osm_opensm_t *osm = context;
	uint32_t count;

	CL_PLOCK_ACQUIRE(&osm->lock);
	count = read_trees(osm, NULL);
	*rows = malloc((count + 1) * sizeof(**rows));
	if (*rows)
		read_trees(osm, *rows);
	CL_PLOCK_RELEASE(&osm->lock);
	return *rows ? (int64_t) count : -1;
}

void reconfig_free_trees(struct reconfig_tree *rows)
{
	free(rows);
}

/* Where a member is attached: a switch and its port, or port 0 of the switch that is one itself. */
static int attach(const osm_port_t *port, struct reconfig_member *member)
{
	osm_physp_t *far = port->p_physp->p_remote_physp;

	if (port->p_node->sw) {
		member->guid = cl_ntoh64(osm_node_get_node_guid(port->p_node));
		member->port = 0;
		return 0;
	}
	if (!far || !far->p_node->sw)
		return -1;
	member->guid = cl_ntoh64(osm_node_get_node_guid(far->p_node));
	member->port = far->port_num;
	return 0;
}

/* All members of the group, by where they are attached. */
static uint32_t gather(cl_qlist_t *ports, struct reconfig_member *members)
{
	cl_list_item_t *item;
	uint32_t count = 0;

	for (item = cl_qlist_head(ports); item != cl_qlist_end(ports); item = cl_qlist_next(item)) {
		osm_mcast_work_obj_t *work = cl_item_obj(item, work, list_item);

		memset(&members[count], 0, sizeof(*members));
		if (!attach(work->p_port, &members[count]))
			count++;
	}
	return count;
}

/* An empty row for every switch that forwards multicast. */
static uint32_t list_switches(osm_opensm_t *osm, uint16_t mlid, struct reconfig_tree *rows)
{
	cl_qmap_t *table = &osm->subn.sw_guid_tbl;
	cl_map_item_t *item;
	uint32_t count = 0;

	for (item = cl_qmap_head(table); item != cl_qmap_end(table); item = cl_qmap_next(item)) {
		osm_switch_t *sw = (osm_switch_t *) item;

		if (!osm_switch_supports_mcast(sw) || !sw->mcast_tbl.p_mask_tbl || mlid > sw->mcast_tbl.max_mlid_ho)
			continue;
		memset(&rows[count], 0, sizeof(*rows));
		rows[count].guid = cl_ntoh64(osm_node_get_node_guid(sw->p_node));
		rows[count++].mlid = mlid;
	}
	return count;
}

static void write_rows(osm_opensm_t *osm, const struct reconfig_tree *rows, uint32_t count)
{
	uint32_t i, num;

	for (i = 0; i < count; i++) {
		osm_switch_t *sw = osm_get_switch_by_guid(&osm->subn, cl_hton64(rows[i].guid));

		for (num = 0; sw && num < sw->num_ports; num++)
			if (is_marked(&rows[i], num))
				osm_mcast_tbl_set(&sw->mcast_tbl, rows[i].mlid, num);
	}
}

ib_api_status_t reconfig_build_tree(osm_opensm_t *osm, void *engine, osm_mgrp_box_t *box)
{
	struct reconfig_member *members = NULL;
	struct reconfig_tree *rows = NULL;
	ib_api_status_t status = IB_INSUFFICIENT_MEMORY;
	cl_qlist_t ports;
	cl_qmap_t map;
	uint32_t member_count, row_count;

	if (osm_mcast_make_port_list_and_map(&ports, &map, box))
		goto end;
	members = calloc(cl_qlist_count(&ports) + 1, sizeof(*members));
	rows = calloc(cl_qmap_count(&osm->subn.sw_guid_tbl) + 1, sizeof(*rows));
	if (!members || !rows)
		goto end;
	status = IB_SUCCESS;
	/* OpenSM, too, leaves a group of one without a tree. */
	if (cl_qlist_count(&ports) < 2)
		goto end;
	member_count = gather(&ports, members);
	row_count = list_switches(osm, box->mlid, rows);
	if (reconfig_order_tree(engine, members, member_count, rows, row_count))
		status = IB_ERROR;
	else
		write_rows(osm, rows, row_count);
end:
	osm_mcast_drop_port_list(&ports);
	free(members);
	free(rows);
	return status;
}
