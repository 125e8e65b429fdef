/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats an Intel PT packet as a line of text or as a JSON object. */
#ifndef DUMP_PRINT_PACKET_TEXT_H
#define DUMP_PRINT_PACKET_TEXT_H

#include <ptl/pt.h>

#include "common/text/json.h"

/*
 * A packet's text is the packet's name and fields, in lower case:
 *
 *     psb                          kinds without fields: pad psb psbend ovf tracestop
 *     tnt ttn                      branches, the oldest first: taken, taken, not taken
 *     tnt-64 ntttnnt
 *     tip 0x401136                 also tip.pge tip.pgd fup; the address is resolved
 *     tip.pgd -                    no address
 *     fup 0x401136 form=full       the form, unless IP compression would choose the same form;
 *                                  one of update16 update32 sign48 update48 full
 *     mode.exec 64 if              64, 32, 16 or cs_l+cs_d; EFLAGS.IF
 *     tsc 0x12d687                 a single value has no name: also mtc cyc cbr vmcs mnt
 *     tma ctc=512 fast=3           several values have names
 *     pip cr3=0x1a000 non_root     flags that are set, by name
 *     ptw bytes=8 payload=0x2a ip
 *
 * tests/tools/pt_assemble.c makes packets from this language.
 */
#define PACKET_TEXT_SIZE 128

/*
 * Writes the packet's text without a newline, and returns its length. last_ip: last IP before the packet (0 at a PSB).
 */
size_t dump_packet_text(const struct ptl_pt_packet *packet, uint64_t last_ip, char text[PACKET_TEXT_SIZE]);

/*
 * Adds the members "packet" (the SDM's name), "size", and one for each field to the open JSON object. "branches" of TNT
 * is text. Packets with an address have "ip" (resolved; null: none), "form" and "payload". Flags are booleans,
 * addresses and raw payloads "0x..." text, other numbers numbers.
 */
void dump_packet_json(const struct ptl_pt_packet *packet, uint64_t last_ip, struct common_json *json);

/* Returns "update16" and so on, as above; NULL for PTL_PT_IP_NONE and reserved forms. */
const char *dump_packet_form_name(unsigned form);

#endif
