/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates packets between PTL and libipt, the judge of the packet tests. */
#ifndef TESTS_UNIT_PT_LIBIPT_H
#define TESTS_UNIT_PT_LIBIPT_H

#include <intel-pt.h>
#include <stdlib.h>

#include <ptl/pt.h>

/* Kinds of libipt 2.0.5. MODE is a single type there. */
#define PT_LIBIPT_KINDS(X)                                                                                             \
	X(PTL_PT_PAD, ppt_pad)                                                                                         \
	X(PTL_PT_PSB, ppt_psb)                                                                                         \
	X(PTL_PT_PSBEND, ppt_psbend)                                                                                   \
	X(PTL_PT_OVF, ppt_ovf)                                                                                         \
	X(PTL_PT_TNT_8, ppt_tnt_8)                                                                                     \
	X(PTL_PT_TNT_64, ppt_tnt_64)                                                                                   \
	X(PTL_PT_TIP, ppt_tip)                                                                                         \
	X(PTL_PT_TIP_PGE, ppt_tip_pge)                                                                                 \
	X(PTL_PT_TIP_PGD, ppt_tip_pgd)                                                                                 \
	X(PTL_PT_FUP, ppt_fup)                                                                                         \
	X(PTL_PT_MODE_EXEC, ppt_mode)                                                                                  \
	X(PTL_PT_MODE_TSX, ppt_mode)                                                                                   \
	X(PTL_PT_TSC, ppt_tsc)                                                                                         \
	X(PTL_PT_CBR, ppt_cbr)                                                                                         \
	X(PTL_PT_TMA, ppt_tma)                                                                                         \
	X(PTL_PT_MTC, ppt_mtc)                                                                                         \
	X(PTL_PT_CYC, ppt_cyc)                                                                                         \
	X(PTL_PT_PIP, ppt_pip)                                                                                         \
	X(PTL_PT_VMCS, ppt_vmcs)                                                                                       \
	X(PTL_PT_TRACESTOP, ppt_stop)                                                                                  \
	X(PTL_PT_MNT, ppt_mnt)                                                                                         \
	X(PTL_PT_EXSTOP, ppt_exstop)                                                                                   \
	X(PTL_PT_MWAIT, ppt_mwait)                                                                                     \
	X(PTL_PT_PWRE, ppt_pwre)                                                                                       \
	X(PTL_PT_PWRX, ppt_pwrx)                                                                                       \
	X(PTL_PT_PTWRITE, ppt_ptw)

enum pt_packet_type pt_libipt_type(unsigned kind);
/* Converts a packet to libipt's form. False: libipt lacks this kind. */
bool pt_to_libipt(const struct ptl_pt_packet *ours, struct pt_packet *theirs);
/* Returns whether the packets are equal. theirs: libipt's result for the bytes of ours. */
bool pt_same_as_libipt(const struct ptl_pt_packet *ours, const struct pt_packet *theirs);
/*
 * libipt's decoder at the start of the bytes; ended with pt_pkt_free_decoder. NULL without memory.
 */
struct pt_packet_decoder *pt_libipt_decoder(const uint8_t *data, size_t size);
/* Returns whether PTL's status corresponds to libipt's; some codes of libipt correspond to the same code of PTL. */
bool pt_same_failure(int ours, int theirs);

#endif
