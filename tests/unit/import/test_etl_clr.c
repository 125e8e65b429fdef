/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the table of the events of .NET's runtime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "import/etl/schema/clr_event.h"
#include "import/etl/schema/clr_table.h"
#include "import/etl/schema/field_text.h"

static struct ptl_descriptor descriptor_of(const struct etl_clr_row *row)
{
	return (struct ptl_descriptor){
		.provider = etl_clr_providers[row->provider].guid, .id = row->id, .version = row->version};
}

static void every_row_describes_its_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < etl_clr_row_count; i++) {
		const struct etl_clr_row *row = &etl_clr_rows[i];
		const struct ptl_descriptor descriptor = descriptor_of(row);
		struct etl_schema *schema;

		assert_int_equal(etl_clr_schema(&descriptor, &schema), 0);
		assert_non_null(schema);
		assert_string_equal(schema->ptl.event_name, row->name);
		assert_non_null(strchr(row->name, '/'));
		assert_int_equal(schema->ptl.field_count == 0, !*row->fields);
		for (size_t k = 0; k < schema->field_count; k++)
			if (schema->fields[k].in == ETL_IN_STRUCT)
				assert_true(schema->fields[k].members > 0);
		etl_schema_free(schema);
	}
}

static void no_event_is_there_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < etl_clr_row_count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct etl_clr_row *a = &etl_clr_rows[i], *b = &etl_clr_rows[k];

			assert_false(a->provider == b->provider && a->id == b->id && a->version == b->version);
		}
}

static void versions_are_as_the_one_before(void **state)
{
	struct ptl_descriptor descriptor = {.provider = etl_clr_providers[0].guid, .id = 1, .version = 9};
	struct etl_schema *schema;

	(void)state;
	assert_int_equal(etl_clr_schema(&descriptor, &schema), 0);
	assert_string_equal(schema->fields[schema->field_count - 1].name, "ClientSequenceNumber");
	etl_schema_free(schema);
	descriptor.id = 204;
	descriptor.version = 2;
	assert_int_equal(etl_clr_schema(&descriptor, &schema), 0);
	assert_null(schema);
	descriptor.id = 1;
	descriptor.provider.bytes[15] ^= 1;
	assert_int_equal(etl_clr_schema(&descriptor, &schema), 0);
	assert_null(schema);
}

static void wrong_texts_are_refused(void **state)
{
	static const char *const texts[] = {"a:zz", "a:u4 b:[c d:u4 ]", "a:u4 ]", "a:u4[a", "a:b[b"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct etl_schema *schema = etl_schema_new();

		assert_non_null(schema);
		assert_int_equal(etl_field_text(schema, texts[i]), PTL_MISUSE);
		etl_schema_free(schema);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_describes_its_event),
		cmocka_unit_test(no_event_is_there_twice),
		cmocka_unit_test(versions_are_as_the_one_before),
		cmocka_unit_test(wrong_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
