/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transitions between translated code and the runtime. Translated code has the program's values in all registers except
 * R15, which holds the pending TNT bits below a stop bit. The program's R15 is in struct runtime_thread.
 */
#include "record/software/runtime/layout.h"

	.text
	.intel_syntax noprefix

/*
 * Saves the program's registers and calls the runtime on the runtime's stack. The runtime sets the address to continue
 * at.
 */
.macro ENTER reason
	mov dword ptr gs:[RUNTIME_REASON], \reason
	jmp enter_runtime
.endm

	.globl runtime_to_link, runtime_to_check, runtime_to_indirect, runtime_to_return_miss, runtime_to_syscall, runtime_to_other
	.hidden runtime_to_link, runtime_to_check, runtime_to_indirect, runtime_to_return_miss, runtime_to_syscall, runtime_to_other
runtime_to_link:
	ENTER RUNTIME_REASON_LINK

/*
 * At a block's check: TNT bits are to be written, or somebody wants the thread's attention. rax: address at which the thread goes
 * on; rax's own value is in scratch 0. The program's address is stored.
 */
runtime_to_check:
	mov gs:[RUNTIME_TARGET], rax
	mov gs:[RUNTIME_SCRATCH + 8], rcx
	mov gs:[RUNTIME_SCRATCH + 16], rdx
	mov gs:[RUNTIME_SCRATCH + 24], rsi
	lahf
	seto al
	/* The head of a forgotten block jumps here, too. */
	cmp r15, gs:[RUNTIME_LIMIT]
	jb check_slow
	cmp qword ptr gs:[RUNTIME_LIMIT], 0
	je check_slow
	mov rdx, gs:[RUNTIME_SLOT_PT_HEAD]
	cmp rdx, gs:[RUNTIME_SLOT_PT_LIMIT]
	jae check_slow
	add rdx, gs:[RUNTIME_SLOT_PT_BIAS]
	/* The oldest 47 bits. */
	bsr rcx, r15
	sub ecx, 47
	mov rsi, r15
	shr rsi, cl
	shl rsi, 16
	or rsi, 0xa302
	mov [rdx], rsi
	/* The rest, below a stop bit. */
	mov esi, 1
	shl rsi, cl
	lea rcx, [rsi - 1]
	and r15, rcx
	or r15, rsi
	add qword ptr gs:[RUNTIME_SLOT_PT_HEAD], 8
	add al, 127
	sahf
	mov rax, gs:[RUNTIME_SCRATCH]
	mov rcx, gs:[RUNTIME_SCRATCH + 8]
	mov rdx, gs:[RUNTIME_SCRATCH + 16]
	mov rsi, gs:[RUNTIME_SCRATCH + 24]
	jmp gs:[RUNTIME_TARGET]
check_slow:
	mov dword ptr gs:[RUNTIME_REASON], RUNTIME_REASON_CHECK
	add al, 127
	sahf
	mov rax, gs:[RUNTIME_SCRATCH]
	mov rcx, gs:[RUNTIME_SCRATCH + 8]
	mov rdx, gs:[RUNTIME_SCRATCH + 16]
	mov rsi, gs:[RUNTIME_SCRATCH + 24]
	jmp enter_runtime

/* At a function of --values. rax: address at which the thread goes on; rax's own value is in scratch 0. */
	.globl runtime_to_values
	.hidden runtime_to_values
runtime_to_values:
	mov gs:[RUNTIME_TARGET], rax
	mov rax, gs:[RUNTIME_SCRATCH]
	ENTER RUNTIME_REASON_VALUES

runtime_to_syscall:
	ENTER RUNTIME_REASON_SYSCALL
runtime_to_other:
	ENTER RUNTIME_REASON_OTHER

/*
 * r11: the address returned to, r10: the return site expected; the values of r11, r10 and rcx are in scratch 0 to 2.
 * r15 already has the bit of a return that matches. With an empty stack, the return is as any indirect branch.
 */
runtime_to_return_miss:
	movzx ecx, byte ptr [r10 + 7]
	jrcxz 1f
	mov gs:[RUNTIME_PC], r11
	mov r11, gs:[RUNTIME_SCRATCH]
	mov r10, gs:[RUNTIME_SCRATCH + 8]
	mov rcx, gs:[RUNTIME_SCRATCH + 16]
	ENTER RUNTIME_REASON_RETURN_MISS
1:	mov rcx, gs:[RUNTIME_RETURN_TOP]
	lea rcx, [rcx + 4]
	mov gs:[RUNTIME_RETURN_TOP], rcx
	mov rcx, gs:[RUNTIME_SCRATCH + 16]
	mov gs:[RUNTIME_SCRATCH + 16], rax
	lahf
	seto al
	shr r15
	jmp indirect_saved

/* Restores rax, r11 and the flags, and continues at the target whose pair is at offset r10 of the table. */
.macro GO_FOUND
	add al, 127
	sahf
	mov rax, gs:[RUNTIME_SCRATCH + 16]
	mov r11, gs:[RUNTIME_SCRATCH]
	jmp gs:[r10 + RUNTIME_TARGETS + 8]
.endm

/* Stores the address in r10 as the end of the packets, and continues at the translation of the target in r11. */
.macro GO_TO_TARGET
	sub r10, gs:[RUNTIME_SLOT_PT_BIAS]
	mov gs:[RUNTIME_SLOT_PT_HEAD], r10
	mov r10d, r11d
	and r10d, RUNTIME_TARGETS_MASK
	mov r15d, 1
	cmp gs:[r10 + RUNTIME_TARGETS], r11
	jne indirect_other
	GO_FOUND
.endm

/*
 * An indirect branch. r11: target; scratch 0: value of r11. Writes the pending TNT bits and a TIP packet, and continues at
 * the translated target, which restores r10, if a table has the target.
 */
runtime_to_indirect:
	mov gs:[RUNTIME_SCRATCH + 8], r10
	mov gs:[RUNTIME_SCRATCH + 16], rax
	lahf
	seto al
indirect_saved:
	mov r10, gs:[RUNTIME_SLOT_PT_HEAD]
	cmp r10, gs:[RUNTIME_SLOT_PT_LIMIT]
	jae indirect_slow
	add r10, gs:[RUNTIME_SLOT_PT_BIAS]
	cmp r15, 128
	jae 4f
	/* Up to six TNT bits. Without bits, the next packet overwrites the byte. */
	add r15d, r15d
	mov [r10], r15b
	cmp r15d, 4
	sbb r10, -1
	/* TIP with the address bytes that differ from the last address, whose low 16 bits do not matter. */
1:	mov r15, r11
	xor r15, gs:[RUNTIME_SLOT_LAST_IP]
	mov [r10 + 1], r11
	shr r15, 16
	jnz 6f
	mov byte ptr [r10], 0x2d
	add r10, 3
2:	GO_TO_TARGET

	/* Another target has the place. The table of blocks may have the target, which then gets the place. */
indirect_other:
	mov r10d, r11d
	shr r10d, RUNTIME_TABLE_SHIFT
	xor r10d, r11d
	and r10d, RUNTIME_TABLE_SIZE - 1
	mov r15, gs:[RUNTIME_TABLE]
	mov r10, [r15 + r10 * 8]
	mov r15d, 1
	test r10, r10
	jz indirect_miss
	cmp [r10], r11
	jne indirect_miss
	mov r10, [r10 + 8]
	mov r15d, r11d
	and r15d, RUNTIME_TARGETS_MASK
	mov gs:[r15 + RUNTIME_TARGETS], r11
	mov gs:[r15 + RUNTIME_TARGETS + 8], r10
	mov r10d, r15d
	mov r15d, 1
	GO_FOUND

	/* More TNT bits: two or three packets of six bits, or a long packet. */
4:	mov gs:[RUNTIME_SCRATCH + 24], rsi
	cmp r15, 0x80000
	jae 5f
	mov rsi, r15
	cmp r15, 0x2000
	jb 8f
	shr rsi, 12
	add esi, esi
	mov [r10], sil
	inc r10
	mov rsi, r15
	and esi, 0xfff
	or esi, 0x1000
8:	mov r15, rsi
	shr rsi, 6
	add esi, esi
	mov [r10], sil
	mov esi, r15d
	and esi, 0x3f
	lea esi, [rsi + rsi + 0x80]
	mov [r10 + 1], sil
	add r10, 2
	mov rsi, gs:[RUNTIME_SCRATCH + 24]
	jmp 1b
5:	mov rsi, r15
	shr rsi, 48
	jnz 9f
	mov rsi, r15
	shl rsi, 16
	or rsi, 0xa302
	mov [r10], rsi
	add r10, 8
	mov rsi, gs:[RUNTIME_SCRATCH + 24]
	jmp 1b
9:	mov rsi, gs:[RUNTIME_SCRATCH + 24]
	jmp indirect_slow

	/* The address has more bytes than 2. */
6:	mov gs:[RUNTIME_SLOT_LAST_IP], r11
	shr r15, 16
	jnz 7f
	mov byte ptr [r10], 0x4d
	add r10, 5
	GO_TO_TARGET
7:	mov byte ptr [r10], 0x6d
	add r10, 7
	jmp 2b

/* r11: the program's address; rax: the flags; the values of r11, r10 and rax are in scratch 0 to 2. */
indirect_miss:
	mov dword ptr gs:[RUNTIME_REASON], RUNTIME_REASON_LOOKUP
	jmp 1f
indirect_slow:
	mov dword ptr gs:[RUNTIME_REASON], RUNTIME_REASON_INDIRECT
1:	mov gs:[RUNTIME_PC], r11
	add al, 127
	sahf
	mov rax, gs:[RUNTIME_SCRATCH + 16]
	mov r10, gs:[RUNTIME_SCRATCH + 8]
	mov r11, gs:[RUNTIME_SCRATCH]
	/* falls through */

enter_runtime:
	mov gs:[RUNTIME_REG(0)], rax
	mov gs:[RUNTIME_REG(1)], rcx
	mov gs:[RUNTIME_REG(2)], rdx
	mov gs:[RUNTIME_REG(3)], rbx
	mov gs:[RUNTIME_REG(4)], rsp
	mov gs:[RUNTIME_REG(5)], rbp
	mov gs:[RUNTIME_REG(6)], rsi
	mov gs:[RUNTIME_REG(7)], rdi
	mov gs:[RUNTIME_REG(8)], r8
	mov gs:[RUNTIME_REG(9)], r9
	mov gs:[RUNTIME_REG(10)], r10
	mov gs:[RUNTIME_REG(11)], r11
	mov gs:[RUNTIME_REG(12)], r12
	mov gs:[RUNTIME_REG(13)], r13
	mov gs:[RUNTIME_REG(14)], r14
	mov gs:[RUNTIME_TNT], r15
	mov rsp, gs:[RUNTIME_STACK]
	pushfq
	pop qword ptr gs:[RUNTIME_FLAGS]
	cld
	/* Alignment is checked while the program has AC set. */
	test dword ptr gs:[RUNTIME_FLAGS], 0x40000
	jz runtime_resume
	push 2
	popfq

/* Continues with the program's state in the thread. Signal handlers and new threads also continue here. */
	.globl runtime_resume
	.hidden runtime_resume
runtime_resume:
	mov rdi, gs:[RUNTIME_SELF]
	xor ebp, ebp
	call runtime_serve
	push qword ptr gs:[RUNTIME_FLAGS]
	popfq
	mov rax, gs:[RUNTIME_REG(0)]
	mov rcx, gs:[RUNTIME_REG(1)]
	mov rdx, gs:[RUNTIME_REG(2)]
	mov rbx, gs:[RUNTIME_REG(3)]
	mov rsp, gs:[RUNTIME_REG(4)]
	mov rbp, gs:[RUNTIME_REG(5)]
	mov rsi, gs:[RUNTIME_REG(6)]
	mov rdi, gs:[RUNTIME_REG(7)]
	mov r8, gs:[RUNTIME_REG(8)]
	mov r9, gs:[RUNTIME_REG(9)]
	mov r10, gs:[RUNTIME_REG(10)]
	mov r11, gs:[RUNTIME_REG(11)]
	mov r12, gs:[RUNTIME_REG(12)]
	mov r13, gs:[RUNTIME_REG(13)]
	mov r14, gs:[RUNTIME_REG(14)]
	mov r15, gs:[RUNTIME_TNT]
	jmp gs:[RUNTIME_TARGET]

/* int64_t runtime_syscall(number, a0, a1, a2, a3, a4, a5): a system call of the runtime. */
	.globl runtime_syscall
	.hidden runtime_syscall
runtime_syscall:
	mov rax, rdi
	mov rdi, rsi
	mov rsi, rdx
	mov rdx, rcx
	mov r10, r8
	mov r8, r9
	mov r9, [rsp + 8]
	syscall
	ret

/*
 * int64_t runtime_program_syscall(struct runtime_thread *): a system call of the program, with the program's registers.
 * Returns -512 if a signal is pending: the signal handler sets the instruction pointer to runtime_syscall_interrupted.
 */
	.globl runtime_program_syscall, runtime_syscall_check, runtime_syscall_at, runtime_syscall_behind
	.hidden runtime_program_syscall, runtime_syscall_check, runtime_syscall_at, runtime_syscall_behind
	.globl runtime_syscall_interrupted
	.hidden runtime_syscall_interrupted
runtime_program_syscall:
	mov rax, gs:[RUNTIME_REG(0)]
	mov rdi, gs:[RUNTIME_REG(7)]
	mov rsi, gs:[RUNTIME_REG(6)]
	mov rdx, gs:[RUNTIME_REG(2)]
	mov r10, gs:[RUNTIME_REG(10)]
	mov r8, gs:[RUNTIME_REG(8)]
	mov r9, gs:[RUNTIME_REG(9)]
runtime_syscall_check:
	cmp qword ptr gs:[RUNTIME_PENDING], 0
	jne runtime_syscall_interrupted
runtime_syscall_at:
	syscall
runtime_syscall_behind:
	ret
runtime_syscall_interrupted:
	mov rax, -512
	ret
/* The recorder, as tracer, continues a thread here that waits in the call. */
	.globl runtime_syscall_kicked
	.hidden runtime_syscall_kicked
runtime_syscall_kicked:
	mov rax, RUNTIME_KICKED
	ret

/*
 * int64_t runtime_clone(struct runtime_thread *parent, struct runtime_thread *child, uint64_t stack): fork, vfork, clone
 * and clone3 with the program's registers. The child goes on in runtime_child on its own runtime stack.
 */
	.globl runtime_clone
	.hidden runtime_clone
runtime_clone:
	push rbx
	push rbp
	push r12
	mov rbx, rsi
	mov rbp, rdi
	mov r12, rsp
	mov rax, gs:[RUNTIME_REG(0)]
	mov rdi, gs:[RUNTIME_REG(7)]
	mov rsi, gs:[RUNTIME_REG(6)]
	mov rdx, gs:[RUNTIME_REG(2)]
	mov r10, gs:[RUNTIME_REG(10)]
	mov r8, gs:[RUNTIME_REG(8)]
	mov r9, gs:[RUNTIME_REG(9)]
	syscall
	test rax, rax
	jz 1f
	pop r12
	pop rbp
	pop rbx
	ret
1:	/* The child. rbx: child's thread; rsp: the program's new stack, or still the parent's stack. */
	mov r13, rsp
	mov rsp, [rbx + (RUNTIME_STACK - RUNTIME_THREAD_AT)]
	mov rdi, rbx
	mov rsi, rbp
	xor edx, edx
	cmp r13, r12
	cmovne rdx, r13
	call runtime_child
	jmp runtime_resume

/* void runtime_old_syscall(struct runtime_thread *): int 0x80 with the program's registers. */
	.globl runtime_old_syscall
	.hidden runtime_old_syscall
runtime_old_syscall:
	push rbx
	push rbp
	push rdi
	mov rax, gs:[RUNTIME_REG(0)]
	mov rcx, gs:[RUNTIME_REG(1)]
	mov rdx, gs:[RUNTIME_REG(2)]
	mov rbx, gs:[RUNTIME_REG(3)]
	mov rbp, gs:[RUNTIME_REG(5)]
	mov rsi, gs:[RUNTIME_REG(6)]
	mov rdi, gs:[RUNTIME_REG(7)]
	int 0x80
	mov gs:[RUNTIME_REG(0)], rax
	pop rdi
	pop rbp
	pop rbx
	ret

/*
 * Ends the thread without touching the stack. rdi: word for the value in ecx, rsi: number of the call, rdx: argument of
 * the call.
 */
	.globl runtime_exit
	.hidden runtime_exit
runtime_exit:
	mov r8d, ecx
	mov rax, rsi
	mov [rdi], r8d
	mov rdi, rdx
	syscall
	ud2

	.globl runtime_signal_entry, runtime_signal_return
	.hidden runtime_signal_entry, runtime_signal_return
runtime_signal_entry:
	push 2
	popfq
	jmp runtime_on_signal
runtime_signal_return:
	mov eax, 15
	syscall
	ud2

/* bool runtime_copy(void *to, const void *from, size_t size): false if a byte cannot be read or written. */
	.globl runtime_copy, runtime_copy_at, runtime_copy_end, runtime_copy_failed
	.hidden runtime_copy, runtime_copy_at, runtime_copy_end, runtime_copy_failed
runtime_copy:
	mov rcx, rdx
runtime_copy_at:
	rep movsb
runtime_copy_end:
	mov eax, 1
	ret
runtime_copy_failed:
	xor eax, eax
	ret

/* bool runtime_xsave(void *area, uint64_t mask), runtime_xrstor: false if the area cannot be used. */
	.globl runtime_xsave, runtime_xsave_at, runtime_xrstor, runtime_xrstor_at
	.hidden runtime_xsave, runtime_xsave_at, runtime_xrstor, runtime_xrstor_at
runtime_xsave:
	mov rax, rsi
	mov rdx, rsi
	shr rdx, 32
runtime_xsave_at:
	xsave64 [rdi]
	mov eax, 1
	ret
runtime_xrstor:
	mov rax, rsi
	mov rdx, rsi
	shr rdx, 32
runtime_xrstor_at:
	xrstor64 [rdi]
	mov eax, 1
	ret

	.globl runtime_fxrstor, runtime_fxrstor_at
	.hidden runtime_fxrstor, runtime_fxrstor_at
runtime_fxrstor:
runtime_fxrstor_at:
	fxrstor64 [rdi]
	mov eax, 1
	ret

/* void runtime_store_vectors(void *area): stores the low 16 bytes of the vector registers 0 to 15. */
	.globl runtime_store_vectors
	.hidden runtime_store_vectors
runtime_store_vectors:
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups [rdi + 16 * \n], xmm\n
	.endr
	ret

/* Entry point of a program, or of a thread of a running program. rsi: enum runtime_entry, which defines rdi. */
	.globl _start
_start:
	cmp rsi, 1
	ja 2f
	lea rsp, [rip + runtime_first_stack + 65536]
	push 2
	popfq
	cmp rsi, 1
	je 1f
	call runtime_start
	jmp runtime_resume
1:	call runtime_attach_prepare
	mov eax, 24
	syscall
	ud2
2:	mov rsp, [rdi + (RUNTIME_STACK - RUNTIME_THREAD_AT)]
	push 2
	popfq
	call runtime_attached
	jmp runtime_resume

	.section .note.GNU-stack, "", @progbits
