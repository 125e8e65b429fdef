/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets from the %gs base that assembly and translated code use; thread.h checks them. */
#ifndef RECORD_SOFTWARE_RUNTIME_LAYOUT_H
#define RECORD_SOFTWARE_RUNTIME_LAYOUT_H

/* struct runtime_thread begins so far behind the thread's slot, which is the %gs base. */
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
#define RUNTIME_RETURN_INDEX (RUNTIME_THREAD_AT + 184)
#define RUNTIME_SCRATCH (RUNTIME_THREAD_AT + 192) /* four words */
#define RUNTIME_STACK (RUNTIME_THREAD_AT + 224)
#define RUNTIME_TABLE (RUNTIME_THREAD_AT + 232)
#define RUNTIME_TO_LINK (RUNTIME_THREAD_AT + 240)
#define RUNTIME_TO_CHECK (RUNTIME_THREAD_AT + 248)
#define RUNTIME_TO_INDIRECT (RUNTIME_THREAD_AT + 256)
#define RUNTIME_TO_RETURN_MISS (RUNTIME_THREAD_AT + 264)
#define RUNTIME_TO_SYSCALL (RUNTIME_THREAD_AT + 272)
#define RUNTIME_TO_OTHER (RUNTIME_THREAD_AT + 280)
#define RUNTIME_TO_LOOKUP (RUNTIME_THREAD_AT + 288)
#define RUNTIME_IN_SYSCALL (RUNTIME_THREAD_AT + 296)
#define RUNTIME_PENDING (RUNTIME_THREAD_AT + 304)
#define RUNTIME_SELF (RUNTIME_THREAD_AT + 312)
#define RUNTIME_RETURNS (RUNTIME_THREAD_AT + 512) /* 64 entries of 16 bytes */

/* struct channel_slot's members. */
#define RUNTIME_SLOT_PT_HEAD 192
#define RUNTIME_SLOT_PT_BIAS 216
#define RUNTIME_SLOT_PT_LIMIT 232
#define RUNTIME_SLOT_LAST_IP 240
#define RUNTIME_SLOT_INSTRUCTIONS 200

/* Entries of the table of translated targets. */
#define RUNTIME_TABLE_SIZE 0x40000
/* An address's place in the table: its lower half, exclusive or the same shifted right by so many bits, modulo the table's size. */
#define RUNTIME_TABLE_SHIFT 12

/* Why the runtime was entered: struct runtime_thread's reason. */
#define RUNTIME_REASON_LINK 1        /* a direct branch whose target is not linked yet: exit */
#define RUNTIME_REASON_CHECK 2       /* TNT bits are to be written, or there is something else to do, at pc */
#define RUNTIME_REASON_LOOKUP 3      /* an indirect branch to pc, whose packets are written */
#define RUNTIME_REASON_INDIRECT 4    /* the same, and they are not */
#define RUNTIME_REASON_RETURN_MISS 5 /* a return to pc that is not on top of the return stack */
#define RUNTIME_REASON_SYSCALL 6     /* a system call; pc is behind it */
#define RUNTIME_REASON_OTHER 7       /* the instruction at pc is to be emulated */
#define RUNTIME_REASON_FAULT 8       /* a signal handler put the program's state here */
#define RUNTIME_REASON_START 9       /* a thread begins at pc */

/* Result of a system call of the program's that the recorder has ended: see struct channel_kick. */
#define RUNTIME_KICKED -8192

#endif
