/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the software runtime's model of executable memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/channel/shared/address_space.h"

static struct channel_image image_at(uint64_t base, uint64_t end)
{
	static char path[] = "/lib/some.so";

	return (struct channel_image){
		.base = base, .end = end, .file_offset = 0x3000, .path = path, .executable = true};
}

static void images_replace_each_other(void **state)
{
	struct channel_address_space space = {0};
	struct channel_image wide = image_at(0x10000, 0x20000), narrow = image_at(0x14000, 0x15000);

	(void)state;
	assert_int_equal(channel_space_add(&space, &wide), 0);
	assert_int_equal(channel_space_add(&space, &narrow), 0);
	assert_int_equal(space.count, 3);
	assert_int_equal(space.images[0].end, 0x14000);
	assert_int_equal(space.images[2].base, 0x15000);
	assert_int_equal(space.images[2].file_offset, 0x8000);
	assert_ptr_equal(channel_space_find(&space, 0x14fff), &space.images[1]);
	assert_null(channel_space_find(&space, 0x20000));
	assert_true(channel_space_remove(&space, 0x12000, 0x18000));
	assert_int_equal(space.count, 2);
	assert_null(channel_space_find(&space, 0x12000));
	assert_int_equal(channel_space_find(&space, 0x18000)->file_offset, 0xb000);
	assert_false(channel_space_remove(&space, 0x12000, 0x18000));
	channel_space_clear(&space);
}

static void code_is_learned_once(void **state)
{
	struct channel_address_space space = {0};
	struct channel_image image = image_at(0x10000, 0x20000);
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 0x90, sizeof(bytes));
	assert_int_equal(channel_space_add(&space, &image), 0);
	assert_int_equal(channel_space_learn(&space, 0x10010, bytes, 16), CHANNEL_LEARNED_MORE);
	assert_int_equal(channel_space_learn(&space, 0x10010, bytes, 16), CHANNEL_LEARNED_NOTHING);
	assert_int_equal(channel_space_learn(&space, 0x10018, bytes, 16), CHANNEL_LEARNED_MORE);
	bytes[3] = 0xcc;
	assert_int_equal(channel_space_learn(&space, 0x10014, bytes, 8), CHANNEL_LEARNED_CHANGE);
	assert_int_equal(channel_space_learn(&space, 0x10014, bytes, 8), CHANNEL_LEARNED_NOTHING);
	for (uint64_t page = 0x30000; page < 0x30000 + 2000 * CHANNEL_PAGE; page += CHANNEL_PAGE)
		assert_int_equal(channel_space_learn(&space, page, bytes, 8), CHANNEL_LEARNED_MORE);
	assert_non_null(channel_space_page(&space, 0x10000));
	channel_space_remove(&space, 0x10000, 0x11000);
	assert_null(channel_space_page(&space, 0x10000));
	assert_non_null(channel_space_page(&space, 0x30000));
	channel_space_remove(&space, 0, 1ull << 47);
	assert_int_equal(space.page_count, 0);
	channel_space_clear(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_replace_each_other),
		cmocka_unit_test(code_is_learned_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
