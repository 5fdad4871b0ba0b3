/* Hop counts between switches. */
#ifndef RECONFIG_HOPS_H
#define RECONFIG_HOPS_H

#include <opensm/osm_opensm.h>

/* Fills the matrices of all switches; OpenSM's lock is held. More than 0 has OpenSM do it. */
int reconfig_count_hops(osm_opensm_t *osm);

#endif
