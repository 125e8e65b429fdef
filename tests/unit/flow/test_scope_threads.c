/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several threads look up scopes of this program's own code, not read before, and find the same as a single thread.
 * "make check-threads" runs this under ThreadSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/hash.h"
#include "flow/symbol/scope_table.h"

#define THREADS 4
#define ADDRESSES_MAX 4096u
#define APART 16u

struct addresses {
	uint64_t list[ADDRESSES_MAX];
	size_t count;
};

struct looker {
	pthread_t thread;
	pthread_barrier_t *begin;
	const struct addresses *addresses;
	struct flow_scope_table *table;
	uint64_t hash; /* hash of all results */
	size_t found;
};

/* Looks up each address, with inlined functions and their declarations. */
static void look(struct looker *looker)
{
	for (size_t i = 0; i < looker->addresses->count; i++) {
		const struct flow_scope *scope = flow_scopes_find(looker->table, looker->addresses->list[i]);

		looker->found += scope != NULL;
		looker->hash = common_fnv1a(looker->hash, &i, sizeof(i));
		for (; scope; scope = scope->outer)
			looker->hash = common_fnv1a(looker->hash ^ scope->function->line, scope->function->name,
						    strlen(scope->function->name));
	}
}

static void *look_with_others(void *context)
{
	struct looker *looker = context;

	pthread_barrier_wait(looker->begin);
	look(looker);
	return NULL;
}

/* Lists addresses of all units, up to the array's size. */
static void list_addresses(Dwarf *dwarf, struct addresses *addresses)
{
	Dwarf_Aranges *ranges;
	size_t count, room;

	assert_int_equal(dwarf_getaranges(dwarf, &ranges, &count), 0);
	assert_true(count > 0);
	room = ADDRESSES_MAX / count;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Addr first;
		Dwarf_Word size;

		assert_int_equal(dwarf_getarangeinfo(dwarf_onearange(ranges, i), &first, &size, NULL), 0);
		for (uint64_t at = 0; at < size && at / APART < room; at += APART)
			addresses->list[addresses->count++] = first + at;
	}
}

static void finds_the_same_in_threads(void **state)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Dwarf *const dwarf = dwarf_begin(fd, DWARF_C_READ), *const shared = dwarf_begin(fd, DWARF_C_READ);
	static struct addresses addresses;
	struct looker lookers[THREADS] = {{0}}, alone = {.addresses = &addresses};
	pthread_barrier_t begin;
	struct flow_scope_table *table;

	(void)state;
	if (!dwarf || !shared)
		skip();
	list_addresses(dwarf, &addresses);
	alone.table = flow_scopes_make(dwarf, NULL);
	table = flow_scopes_make(shared, NULL);
	assert_non_null(alone.table);
	assert_non_null(table);
	pthread_barrier_init(&begin, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		lookers[i] = (struct looker){.begin = &begin, .addresses = &addresses, .table = table};
		assert_int_equal(pthread_create(&lookers[i].thread, NULL, look_with_others, &lookers[i]), 0);
	}
	look(&alone);
	assert_true(alone.found > 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(lookers[i].thread, NULL);
		assert_int_equal(lookers[i].found, alone.found);
		assert_int_equal(lookers[i].hash, alone.hash);
	}
	pthread_barrier_destroy(&begin);
	flow_scopes_free(alone.table);
	flow_scopes_free(table);
	dwarf_end(dwarf);
	dwarf_end(shared);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_same_in_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
