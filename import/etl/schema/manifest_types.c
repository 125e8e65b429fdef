/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of the keywords of winmeta.xml. */
#include "import/etl/schema/manifest_types.h"

#include <string.h>

#include "import/etl/schema/schema.h"

struct word {
	const char *text;
	uint16_t value;
};

static const struct word ins[] = {
	{"win:UnicodeString", ETL_IN_UTF16},
	{"win:AnsiString", ETL_IN_ANSI},
	{"win:Int8", ETL_IN_INT8},
	{"win:UInt8", ETL_IN_UINT8},
	{"win:Int16", ETL_IN_INT16},
	{"win:UInt16", ETL_IN_UINT16},
	{"win:Int32", ETL_IN_INT32},
	{"win:UInt32", ETL_IN_UINT32},
	{"win:Int64", ETL_IN_INT64},
	{"win:UInt64", ETL_IN_UINT64},
	{"win:Float", ETL_IN_FLOAT},
	{"win:Double", ETL_IN_DOUBLE},
	{"win:Boolean", ETL_IN_BOOLEAN},
	{"win:Binary", ETL_IN_BINARY},
	{"win:GUID", ETL_IN_GUID},
	{"win:Pointer", ETL_IN_POINTER},
	{"win:FILETIME", ETL_IN_FILETIME},
	{"win:SYSTEMTIME", ETL_IN_SYSTEMTIME},
	{"win:SID", ETL_IN_SID},
	{"win:HexInt32", ETL_IN_HEX32},
	{"win:HexInt64", ETL_IN_HEX64},
	{"win:CountedUnicodeString", ETL_IN_COUNTED_UTF16},
	{"win:CountedAnsiString", ETL_IN_COUNTED_ANSI},
	{"win:CountedBinary", ETL_IN_COUNTED_BINARY},
	{"trace:Int8", ETL_IN_INT8},
	{"trace:UInt8", ETL_IN_UINT8},
	{"trace:Int32", ETL_IN_INT32},
	{"trace:UInt32", ETL_IN_UINT32},
	{"trace:Int64", ETL_IN_INT64},
	{"trace:UInt64", ETL_IN_UINT64},
	{"trace:SizeT", ETL_IN_SIZE},
	{NULL, 0},
};

static const struct word outs[] = {
	{"xs:string", ETL_OUT_STRING},
	{"xs:boolean", ETL_OUT_BOOLEAN},
	{"win:HexInt8", ETL_OUT_HEX8},
	{"win:HexInt16", ETL_OUT_HEX16},
	{"win:HexInt32", ETL_OUT_HEX32},
	{"win:HexInt64", ETL_OUT_HEX64},
	{"win:Port", ETL_OUT_PORT},
	{"win:IPv4", ETL_OUT_IPV4},
	{"win:IPv6", ETL_OUT_IPV6},
	{"win:SocketAddress", ETL_OUT_SOCKET},
	{"win:Xml", ETL_OUT_XML},
	{"win:NTSTATUS", ETL_OUT_NTSTATUS},
	{"win:HResult", ETL_OUT_HRESULT},
	{"win:Json", ETL_OUT_JSON},
	{"win:Utf8", ETL_OUT_UTF8},
	{"win:CodePointer", ETL_OUT_CODE_POINTER},
	{NULL, 0},
};

static const struct word opcodes[] = {
	{"win:Info", 0},    {"win:Start", 1},     {"win:Stop", 2},      {"win:DC_Start", 3},
	{"win:DC_Stop", 4}, {"win:Extension", 5}, {"win:Reply", 6},     {"win:Resume", 7},
	{"win:Suspend", 8}, {"win:Send", 9},      {"win:Receive", 240}, {NULL, 0},
};

static const struct word levels[] = {
	{"win:LogAlways", 0},     {"win:Critical", 1}, {"win:Error", 2}, {"win:Warning", 3},
	{"win:Informational", 4}, {"win:Verbose", 5},  {NULL, 0},
};

static const struct word *find_word(const struct word *words, struct etl_slice text)
{
	for (; words->text; words++)
		if (text.size == strlen(words->text) && memcmp(text.text, words->text, text.size) == 0)
			return words;
	return NULL;
}

uint16_t etl_manifest_in(struct etl_slice text)
{
	const struct word *word = find_word(ins, text);

	return word ? word->value : 0;
}

uint16_t etl_manifest_out(struct etl_slice text)
{
	const struct word *word = find_word(outs, text);

	return word ? word->value : 0;
}

static bool word_value_of(const struct word *words, struct etl_slice text, uint64_t *value)
{
	const struct word *word = find_word(words, text);

	*value = word ? word->value : 0;
	return word != NULL;
}

bool etl_manifest_opcode(struct etl_slice text, uint64_t *value)
{
	return word_value_of(opcodes, text, value);
}

bool etl_manifest_level(struct etl_slice text, uint64_t *value)
{
	return word_value_of(levels, text, value);
}
