/* Joins the port of a host to IPoIB's broadcast group: subnet administration's Set of an MCMemberRecord. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/umad.h>

#define SA_CLASS 3
#define SA_CLASS_VERSION 2
#define MAD_SIZE 256
#define DATA 56
#define QP1_KEY 0x80010000
#define TIMEOUT_MS 2000

int main(void)
{
	/* MGID, PortGID and JoinState are given. */
	static const uint8_t mask[8] = { 0, 0, 0, 0, 0, 1, 0, 3 };
	static const uint8_t group[16] = { 0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF };
	int length = MAD_SIZE, file, agent;
	umad_port_t port;
	uint8_t *mad;
	void *umad;

	if (umad_init() || umad_get_port(NULL, 0, &port)) {
		fprintf(stderr, "join: no port\n");
		return 1;
	}
	file = umad_open_port(port.ca_name, port.portnum);
	agent = file < 0 ? -1 : umad_register(file, SA_CLASS, SA_CLASS_VERSION, 0, NULL);
	umad = umad_alloc(1, umad_size() + MAD_SIZE);
	if (agent < 0 || !umad) {
		fprintf(stderr, "join: port %s:%d cannot be opened\n", port.ca_name, port.portnum);
		return 1;
	}
	mad = umad_get_mad(umad);
	mad[0] = 1;
	mad[1] = SA_CLASS;
	mad[2] = SA_CLASS_VERSION;
	mad[3] = 2;		/* Set */
	mad[15] = 1;		/* the transaction */
	mad[17] = 0x38;		/* MCMemberRecord */
	memcpy(mad + 48, mask, sizeof(mask));
	memcpy(mad + DATA, group, sizeof(group));
	memcpy(mad + DATA + 16, &port.gid_prefix, 8);
	memcpy(mad + DATA + 24, &port.port_guid, 8);
	mad[DATA + 48] = 0x21;	/* link-local scope, full member */
	umad_set_addr(umad, port.sm_lid, 1, port.sm_sl, QP1_KEY);
	if (umad_send(file, agent, umad, MAD_SIZE, TIMEOUT_MS, 3) < 0 ||
	    umad_recv(file, umad, &length, 4 * TIMEOUT_MS) < 0 || umad_status(umad)) {
		fprintf(stderr, "join: subnet administration at LID %u does not answer\n", port.sm_lid);
		return 1;
	}
	mad = umad_get_mad(umad);
	if (mad[4] || mad[5]) {
		fprintf(stderr, "join: refused with status 0x%02x%02x\n", mad[4], mad[5]);
		return 1;
	}
	printf("MLID 0x%02x%02x\n", mad[DATA + 36], mad[DATA + 37]);
	return 0;
}
