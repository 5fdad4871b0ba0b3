/* Multicast: what OpenSM's tables hold, and trees built by our side. */
#ifndef RECONFIG_MULTICAST_H
#define RECONFIG_MULTICAST_H

#include <opensm/osm_opensm.h>
#include <opensm/osm_multicast.h>
#include "shim.h"

/* Builds the tree of a group by what our side orders; OpenSM's lock is held. */
ib_api_status_t reconfig_build_tree(osm_opensm_t *osm, void *engine, osm_mgrp_box_t *box);

#endif
