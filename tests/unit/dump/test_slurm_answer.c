/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests answers of Slurm's programs, with additional output of sites and plugins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dump/run/slurm_answer.h"

static void numbers_of_jobs(void **state)
{
	char id[DUMP_SLURM_ID_SIZE] = "";

	(void)state;
	assert_true(dump_slurm_job_id("17\n", id));
	assert_string_equal(id, "17");
	assert_true(dump_slurm_job_id("18;cluster\n", id));
	assert_string_equal(id, "18");
	assert_true(dump_slurm_job_id("sbatch: warning: 3 nodes are down\n19\n", id));
	assert_string_equal(id, "19");
	assert_true(dump_slurm_job_id("20 jobs wait\n21", id));
	assert_string_equal(id, "21");
	assert_false(dump_slurm_job_id("", id));
	assert_false(dump_slurm_job_id("Submitted batch job 22\n", id));
	assert_false(dump_slurm_job_id("123456789012345678901234\n", id));
	assert_true(dump_slurm_job_id("12345678901234567890123\n", id));
}

static void listed_jobs(void **state)
{
	(void)state;
	assert_true(dump_slurm_is_listed("17\n", "17"));
	assert_true(dump_slurm_is_listed("squeue: error: slow\n17_3", "17"));
	assert_false(dump_slurm_is_listed("squeue: error: slow\n", "17"));
	assert_false(dump_slurm_is_listed("170\n1\n", "17"));
	assert_false(dump_slurm_is_listed("", "17"));
}

static void statuses(void **state)
{
	(void)state;
	assert_int_equal(dump_slurm_exit_status("0\n"), 0);
	assert_int_equal(dump_slurm_exit_status("4"), 4);
	assert_int_equal(dump_slurm_exit_status("5\n"), -1);
	assert_int_equal(dump_slurm_exit_status("137\n"), -1);
	assert_int_equal(dump_slurm_exit_status("x\n"), -1);
	assert_int_equal(dump_slurm_exit_status(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_jobs),
		cmocka_unit_test(listed_jobs),
		cmocka_unit_test(statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
