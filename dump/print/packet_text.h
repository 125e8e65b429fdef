/* SPDX-License-Identifier: BSD-2-Clause */
/* One Intel PT packet for people, as a line of text, and for programs, as a JSON object. */
#ifndef DUMP_PRINT_PACKET_TEXT_H
#define DUMP_PRINT_PACKET_TEXT_H

#include <ptl/pt.h>

#include "common/text/json.h"

/*
 * The text of a packet is its name and its fields, in lower case:
 *
 *     psb                          kinds without fields: pad psb psbend ovf tracestop
 *     tnt ttn                      branches, the oldest first: taken, taken, not taken
 *     tnt-64 ntttnnt
 *     tip 0x401136                 also tip.pge tip.pgd fup; the address is resolved
 *     tip.pgd -                    no address
 *     fup 0x401136 form=full       the form, unless it is the one that IP compression would choose;
 *                                  one of update16 update32 sign48 update48 full
 *     mode.exec 64 if              64, 32, 16 or cs_l+cs_d; EFLAGS.IF
 *     tsc 0x12d687                 a packet's only value stands alone: also mtc cyc cbr vmcs mnt
 *     tma ctc=512 fast=3           several have names
 *     pip cr3=0x1a000 non_root     flags are named where they are set
 *     ptw bytes=8 payload=0x2a ip
 *
 * It is also the language of tests/tools/pt_assemble.c, which makes packets of it.
 */
#define PACKET_TEXT_SIZE 128

/*
 * Writes packet's text, without a newline, and returns its length. last_ip is the last IP before
 * the packet (0 at a PSB).
 */
size_t dump_packet_text(const struct ptl_pt_packet *packet, uint64_t last_ip, char text[PACKET_TEXT_SIZE]);

/*
 * Adds the members "packet" (the SDM's name), "size" and one for each field to the open JSON
 * object: "branches" of TNT as text, "ip" resolved (null if there is none), "form" and "payload" of
 * packets with an address, flags as booleans, addresses and raw payloads as "0x..." text, other
 * numbers as numbers.
 */
void dump_packet_json(const struct ptl_pt_packet *packet, uint64_t last_ip, struct common_json *json);

/* "update16" and so on, as above; NULL for PTL_PT_IP_NONE and reserved forms. */
const char *dump_packet_form_name(unsigned form);

#endif
