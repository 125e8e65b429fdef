/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests probe arguments in the syntax of tracefs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"
#include "record/kernel_event/fetch.h"

static void expect_text(struct ptl_bytes *got, const char *wanted)
{
	common_write_le(got, 0, 1);
	assert_false(got->failed);
	assert_string_equal((const char *)got->data, wanted);
	common_bytes_free(got);
}

static void operands_of_the_assembler(void **state)
{
	static const struct {
		const char *arguments, *fetched;
		unsigned left_out;
	} cases[] = {
		{"", "", 0},
		{"-4@%edi -8@%rsi 8@%rdx", " arg1=%di:s32 arg2=%si:s64 arg3=%dx:u64", 0},
		{"1@%r9b 2@%ax -1@%sil", " arg1=%r9:u8 arg2=%ax:u16 arg3=%si:s8", 0},
		{"8@-16(%rbp) 4@(%rax) -4@0x10(%rsp)", " arg1=-16(%bp):u64 arg2=+0(%ax):u32 arg3=+16(%sp):s32", 0},
		{"4@$5 -4@$-7", " arg1=\\5:u32 arg2=\\-7:s32", 0},
		/* Numbering includes arguments that the kernel cannot fetch. */
		{"8@(%rax,%rbx,8) 4@%ebx", " arg2=%bx:u32", 1},
		{"8f@%xmm0 8@name(%rip) 8@%xmm1 4@%ah 3@%eax 4@ 4 @%eax 8@8(%rip) 4@$x -4@%r15d", " arg11=%r15:s32",
		 10},
		{"4@-(%rax) 4@8 4@8(%rax)x 4@8(%rax 99999999999999999999@%eax", "", 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ptl_bytes out = {0};
		unsigned left_out;

		kernel_event_fetch_sdt(cases[i].arguments, &out, &left_out);
		expect_text(&out, cases[i].fetched);
		assert_int_equal(left_out, cases[i].left_out);
	}
}

static void words_of_the_command_line(void **state)
{
	static const char *const good[][2] = {
		{"", ""},
		{"%di:s32", " arg1=%di:s32"},
		{"$arg1:u64, name=+0($arg2):ustring ,$arg6", " arg1=%di:u64 name=+0(%si):ustring arg3=%r9"},
		{"ret=$retval:s32", " ret=$retval:s32"},
		{"$arg7", " arg1=$arg7"},
		{"$arg12", " arg1=$arg12"},
		{"$arg", " arg1=$arg"},
	};
	static const char *const bad[] = {",", "a b", "1x=%di", "=%di", "x=", "x=%di\nevil", "a-b=%di"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ptl_bytes out = {0};

		assert_int_equal(kernel_event_fetch_words(good[i][0], &out), 0);
		expect_text(&out, good[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ptl_bytes out = {0};

		assert_int_equal(kernel_event_fetch_words(bad[i], &out), PTL_MISUSE);
		common_bytes_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands_of_the_assembler),
		cmocka_unit_test(words_of_the_command_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
