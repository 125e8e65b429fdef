/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets from the %gs base for assembly and translated code; threads.c checks them with static assertions. */
#ifndef RECORD_SOFTWARE_RUNTIME_LAYOUT_H
#define RECORD_SOFTWARE_RUNTIME_LAYOUT_H

/* offset of struct runtime_thread from the thread's slot, which is the %gs base */
#define RUNTIME_THREAD_AT 4096

#define RUNTIME_REGS (RUNTIME_THREAD_AT + 0) /* 16 registers by their numbers */
#define RUNTIME_REG(n) (RUNTIME_REGS + 8 * (n))
#define RUNTIME_FLAGS (RUNTIME_THREAD_AT + 128)
#define RUNTIME_PC (RUNTIME_THREAD_AT + 136)
#define RUNTIME_TNT (RUNTIME_THREAD_AT + 144)
#define RUNTIME_LIMIT (RUNTIME_THREAD_AT + 152)
#define RUNTIME_TARGET (RUNTIME_THREAD_AT + 160)
#define RUNTIME_EXIT (RUNTIME_THREAD_AT + 168)
#define RUNTIME_REASON (RUNTIME_THREAD_AT + 176)
#define RUNTIME_RETURN_TOP (RUNTIME_THREAD_AT + 184)
#define RUNTIME_SCRATCH (RUNTIME_THREAD_AT + 192) /* four words */
#define RUNTIME_STACK (RUNTIME_THREAD_AT + 224)
#define RUNTIME_TABLE (RUNTIME_THREAD_AT + 232)
#define RUNTIME_TO_LINK (RUNTIME_THREAD_AT + 240)
#define RUNTIME_TO_CHECK (RUNTIME_THREAD_AT + 248)
#define RUNTIME_TO_INDIRECT (RUNTIME_THREAD_AT + 256)
#define RUNTIME_TO_RETURN_MISS (RUNTIME_THREAD_AT + 264)
#define RUNTIME_TO_SYSCALL (RUNTIME_THREAD_AT + 272)
#define RUNTIME_TO_OTHER (RUNTIME_THREAD_AT + 280)
#define RUNTIME_TO_VALUES (RUNTIME_THREAD_AT + 288)
#define RUNTIME_IN_SYSCALL (RUNTIME_THREAD_AT + 296)
#define RUNTIME_PENDING (RUNTIME_THREAD_AT + 304)
#define RUNTIME_SELF (RUNTIME_THREAD_AT + 312)
#define RUNTIME_ENTERED (RUNTIME_THREAD_AT + 320)
#define RUNTIME_RETURN_SITES (RUNTIME_THREAD_AT + 328)

/*
 * The thread's return stack: offsets of return sites, signed numbers of 4 bytes; 0: no site. Only the upper 64 entries are
 * not 0. The entry below the first is 0. A write to the guard page behind the last entry faults: see
 * returns_overflow() in signals.c.
 */
#define RUNTIME_RETURNS 8448
#define RUNTIME_RETURNS_GUARD 12288
#define RUNTIME_RETURN_STACK_SIZE 64 /* entries of Intel PT's return stack */

/* struct channel_slot's members. */
#define RUNTIME_SLOT_PT_HEAD 192
#define RUNTIME_SLOT_PT_BIAS 216
#define RUNTIME_SLOT_PT_LIMIT 232
#define RUNTIME_SLOT_LAST_IP 240
#define RUNTIME_SLOT_INSTRUCTIONS 200

/*
 * The thread's own table of indirect branch targets, as pairs of 8-byte words: the target and the head of the target's
 * block. A pair's offset in the table is the target & RUNTIME_TARGETS_MASK.
 */
#define RUNTIME_TARGETS 16384
#define RUNTIME_TARGETS_MASK 0xfff0
/* Size of the table of translated targets. */
#define RUNTIME_TABLE_SIZE 0x40000
/* The table index of an address is (low half ^ low half >> RUNTIME_TABLE_SHIFT) modulo the table's size. */
#define RUNTIME_TABLE_SHIFT 12

/* Reasons to enter the runtime: runtime_thread.reason. */
#define RUNTIME_REASON_LINK 1        /* a direct branch by an unlinked exit; thread->exit has the number */
#define RUNTIME_REASON_CHECK 2       /* TNT bits must be written, or other work is due, at pc */
#define RUNTIME_REASON_LOOKUP 3      /* an indirect branch to pc; packets are written */
#define RUNTIME_REASON_INDIRECT 4    /* an indirect branch to pc; packets are not written */
#define RUNTIME_REASON_RETURN_MISS 5 /* a return to pc, and the top of the return stack differs */
#define RUNTIME_REASON_SYSCALL 6     /* a system call; pc is the next instruction */
#define RUNTIME_REASON_OTHER 7       /* the instruction at pc must be emulated */
#define RUNTIME_REASON_FAULT 8       /* a signal handler put the program's state here */
#define RUNTIME_REASON_START 9       /* a thread begins at pc */
#define RUNTIME_REASON_VALUES 10     /* a function of --values; thread->exit has plan and flags */

/* thread->exit at a function of --values: number of the plan, and flags. */
#define RUNTIME_VALUES_PLAN 0xffff
/* the instruction at pc may jump to another function; scratch 1 has the instruction's offset in the file */
#define RUNTIME_VALUES_MAY_LEAVE 0x40000
#define RUNTIME_VALUES_BRANCH 0x20000    /* the instruction at pc is no plain instruction */
#define RUNTIME_VALUES_TAIL_CALL 0x10000 /* the instruction at pc jumps to another function */

/* Result of a program's system call that the recorder has ended: see struct channel_kick. */
#define RUNTIME_KICKED -8192

#endif
