/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event definitions that the compiler checks. Included by ptl/provider.h.
 *
 *     PTL_PROVIDER(shop, "Example-Shop");
 *
 *     PTL_EVENT(shop, order_placed, 1, "OrderPlaced", PTL_LEVEL_INFORMATIONAL, 0x1,
 *               "{0} ordered {1} pieces", PTL_UTF8(customer), PTL_U32(pieces));
 *
 *     ptl_provider_register(&shop);
 *     order_placed("Zoë", 3);
 *
 * PTL_EVENT defines `static inline void order_placed(const char *customer, uint32_t pieces)`, which writes the event if
 * a session wants the event. PTL_EVENT also defines order_placed_event, the definition for ptl_event_enabled.
 * Definitions may be in several source files and in headers.
 */
#ifndef PTL_PROVIDER_MACROS_H
#define PTL_PROVIDER_MACROS_H

#include <ptl/provider.h>

#ifdef __cplusplus
extern "C" {
typedef char16_t ptl_char16;
#else
typedef uint16_t ptl_char16;
#endif

/*
 * PTL_EVENT(provider, function, id, name, level, keywords, message, fields...): see above. At most 32 fields. For more
 * fields, and for arrays of structures, see libptl-provider(3), "Other payloads".
 */
#define PTL_EVENT(provider, function, id, name, level, keywords, ...)                                                  \
	PTL_EVENT_FULL(provider, function, (id, 0, 0, level, PTL_OPCODE_INFO, 0, keywords, 0, 0), (name, NULL, NULL),  \
		       __VA_ARGS__)

/* Events that begin and end an activity. A start event and its stop event share the task, which must not be 0. */
#define PTL_START_EVENT(provider, function, id, name, level, keywords, task, activity, ...)                            \
	PTL_EVENT_FULL(provider, function, (id, 0, 0, level, PTL_OPCODE_START, task, keywords, 0, activity),           \
		       (name, NULL, NULL), __VA_ARGS__)
#define PTL_STOP_EVENT(provider, function, id, name, level, keywords, task, activity, ...)                             \
	PTL_EVENT_FULL(provider, function, (id, 0, 0, level, PTL_OPCODE_STOP, task, keywords, 0, activity),            \
		       (name, NULL, NULL), __VA_ARGS__)

/*
 * An event with all properties:
 * numbers: (id, version, channel, level, opcode, task, keywords, tags, activity options),
 * names: (event, task or NULL, opcode or NULL).
 */
#define PTL_EVENT_FULL(provider, function, numbers, names, ...)                                                        \
	static const struct ptl_field function##_fields[] = {                                                          \
		PTL_EACH_(PTL_FIELD_, __VA_ARGS__){NULL, 0, 0, 0, 0, 0, NULL, 0}};                                     \
	static const struct ptl_event_definition function##_event = {                                                  \
		&provider,         PTL_SPLICE_ numbers,                                                                \
		PTL_SPLICE_ names, PTL_FIRST_(__VA_ARGS__, 0),                                                         \
		function##_fields, sizeof(function##_fields) / sizeof(function##_fields[0]) - 1};                      \
	PTL_COLLECT_("ptl_events", const struct ptl_event_definition, function##_event_listed_, function##_event);     \
	/* A separate function keeps the inlined check small. */                                                       \
	static __attribute__((noinline, unused)) void function##_write_(PTL_PARAMETERS_(__VA_ARGS__)(__VA_ARGS__))     \
	{                                                                                                              \
		PTL_EACH_(PTL_LOCAL_, __VA_ARGS__)                                                                     \
		const struct ptl_piece ptl_pieces_[] = {PTL_EACH_(PTL_PIECE_, __VA_ARGS__){NULL, 0}};                  \
		ptl_emit(&function##_event, ptl_pieces_, sizeof(ptl_pieces_) / sizeof(ptl_pieces_[0]) - 1);            \
	}                                                                                                              \
	static inline __attribute__((unused)) void function(PTL_PARAMETERS_(__VA_ARGS__)(__VA_ARGS__))                 \
	{                                                                                                              \
		if (ptl_event_enabled(&function##_event))                                                              \
			function##_write_(PTL_ARGUMENTS_(__VA_ARGS__)(__VA_ARGS__));                                   \
	}                                                                                                              \
	PTL_SEMICOLON_(function)

/*
 * PTL_MAP(provider, variable, "name", PTL_MAP_VALUES or PTL_MAP_FLAGS, {1, "one"}, {2, "two"}): names of values, for
 * fields such as PTL_U32_MAP. With PTL_MAP_KEYWORDS, _TASKS, _OPCODES, _CHANNELS: names of the provider's keywords and
 * so on; the map's own name must be "".
 */
#define PTL_MAP(provider, variable, name, kind, ...)                                                                   \
	static const struct ptl_map_entry variable##_entries[] = {__VA_ARGS__};                                        \
	static const struct ptl_map_definition variable = {                                                            \
		&provider,                                                                                             \
		{{{0}}, kind, name, variable##_entries, sizeof(variable##_entries) / sizeof(variable##_entries[0])}};  \
	PTL_COLLECT_("ptl_maps", const struct ptl_map_definition, variable##_listed_, variable);                       \
	PTL_SEMICOLON_(variable)

/* ---- fields: the name is also the parameter's name ---- */

#define PTL_U8(name) (VALUE, uint8_t, PTL_TYPE_U8, 0, NULL, name)
#define PTL_I8(name) (VALUE, int8_t, PTL_TYPE_I8, 0, NULL, name)
#define PTL_U16(name) (VALUE, uint16_t, PTL_TYPE_U16, 0, NULL, name)
#define PTL_I16(name) (VALUE, int16_t, PTL_TYPE_I16, 0, NULL, name)
#define PTL_U32(name) (VALUE, uint32_t, PTL_TYPE_U32, 0, NULL, name)
#define PTL_I32(name) (VALUE, int32_t, PTL_TYPE_I32, 0, NULL, name)
#define PTL_U64(name) (VALUE, uint64_t, PTL_TYPE_U64, 0, NULL, name)
#define PTL_I64(name) (VALUE, int64_t, PTL_TYPE_I64, 0, NULL, name)
#define PTL_F32(name) (VALUE, float, PTL_TYPE_F32, 0, NULL, name)
#define PTL_F64(name) (VALUE, double, PTL_TYPE_F64, 0, NULL, name)
#define PTL_BOOL(name) (VALUE, bool, PTL_TYPE_BOOL8, 0, NULL, name)
#define PTL_BOOL32(name) (BOOL32, bool, PTL_TYPE_BOOL32, 0, NULL, name)
/* Numbers displayed as hexadecimal. */
#define PTL_HEX8(name) (VALUE, uint8_t, PTL_TYPE_U8, PTL_FORMAT_HEX, NULL, name)
#define PTL_HEX16(name) (VALUE, uint16_t, PTL_TYPE_U16, PTL_FORMAT_HEX, NULL, name)
#define PTL_HEX32(name) (VALUE, uint32_t, PTL_TYPE_U32, PTL_FORMAT_HEX, NULL, name)
#define PTL_HEX64(name) (VALUE, uint64_t, PTL_TYPE_U64, PTL_FORMAT_HEX, NULL, name)
/* An errno value, displayed by name. */
#define PTL_ERRNO(name) (VALUE, int32_t, PTL_TYPE_I32, PTL_FORMAT_ERRNO, NULL, name)
/* Numbers with names for values or bits. map: name of a PTL_MAP of the provider. */
#define PTL_U8_MAP(name, map) (VALUE, uint8_t, PTL_TYPE_U8, 0, map, name)
#define PTL_U16_MAP(name, map) (VALUE, uint16_t, PTL_TYPE_U16, 0, map, name)
#define PTL_U32_MAP(name, map) (VALUE, uint32_t, PTL_TYPE_U32, 0, map, name)
#define PTL_U64_MAP(name, map) (VALUE, uint64_t, PTL_TYPE_U64, 0, map, name)
#define PTL_I32_MAP(name, map) (VALUE, int32_t, PTL_TYPE_I32, 0, map, name)
/* An address. */
#define PTL_POINTER(name) (POINTER, const void *, PTL_TYPE_POINTER, 0, NULL, name)
/* Nanoseconds of CLOCK_MONOTONIC; nanoseconds since 1970 UTC. */
#define PTL_TIME(name) (VALUE, uint64_t, PTL_TYPE_TIME, 0, NULL, name)
#define PTL_WALL_TIME(name) (VALUE, int64_t, PTL_TYPE_WALL_TIME, 0, NULL, name)
/* A const struct ptl_guid *. */
#define PTL_GUID_FIELD(name) (OBJECT, const struct ptl_guid *, PTL_TYPE_GUID, 0, NULL, name)
/* Zero-terminated texts; NULL is "". */
#define PTL_UTF8(name) (TEXT, const char *, PTL_TYPE_UTF8, 0, NULL, name)
#define PTL_UTF16(name) (TEXT16, const ptl_char16 *, PTL_TYPE_UTF16, 0, NULL, name)
/*
 * Texts and bytes with a size. The parameters are NAME and NAME_size (UTF-16 units, else bytes). At most 65535 are
 * written.
 */
#define PTL_UTF8_COUNTED(name) (COUNTED, const char *, PTL_TYPE_UTF8_COUNTED, 0, NULL, name)
#define PTL_UTF16_COUNTED(name) (COUNTED, const ptl_char16 *, PTL_TYPE_UTF16_COUNTED, 0, NULL, name)
#define PTL_BYTES(name) (COUNTED, const void *, PTL_TYPE_BYTES_COUNTED, 0, NULL, name)
/*
 * PTL_ARRAY: an array of fixed length; the parameter is a pointer. PTL_LIST: an array of up to 65535 elements; the
 * parameters are NAME and NAME_count. type: U8 to I64, F32, F64, BOOL, TIME, WALL_TIME.
 */
#define PTL_ARRAY(type, name, length) (FIXED, PTL_C_##type, PTL_TYPE_##type##_, length, NULL, name)
#define PTL_LIST(type, name) (LIST, PTL_C_##type, PTL_TYPE_##type##_, 0, NULL, name)
/* A structure; the next `members` fields are its members. */
#define PTL_STRUCT(name, members) (STRUCT, void, PTL_TYPE_STRUCT, members, NULL, name)

/* ---- implementation ---- */

#define PTL_C_U8 uint8_t
#define PTL_C_I8 int8_t
#define PTL_C_U16 uint16_t
#define PTL_C_I16 int16_t
#define PTL_C_U32 uint32_t
#define PTL_C_I32 int32_t
#define PTL_C_U64 uint64_t
#define PTL_C_I64 int64_t
#define PTL_C_F32 float
#define PTL_C_F64 double
#define PTL_C_BOOL bool
#define PTL_C_TIME uint64_t
#define PTL_C_WALL_TIME int64_t
#define PTL_TYPE_U8_ PTL_TYPE_U8
#define PTL_TYPE_I8_ PTL_TYPE_I8
#define PTL_TYPE_U16_ PTL_TYPE_U16
#define PTL_TYPE_I16_ PTL_TYPE_I16
#define PTL_TYPE_U32_ PTL_TYPE_U32
#define PTL_TYPE_I32_ PTL_TYPE_I32
#define PTL_TYPE_U64_ PTL_TYPE_U64
#define PTL_TYPE_I64_ PTL_TYPE_I64
#define PTL_TYPE_F32_ PTL_TYPE_F32
#define PTL_TYPE_F64_ PTL_TYPE_F64
#define PTL_TYPE_BOOL_ PTL_TYPE_BOOL8
#define PTL_TYPE_TIME_ PTL_TYPE_TIME
#define PTL_TYPE_WALL_TIME_ PTL_TYPE_WALL_TIME

/* Returns the count as written to the payload. */
static inline uint16_t ptl_counted_(size_t count)
{
	return (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
}

/* Returns the size of a text in bytes, including its zero unit. */
static inline size_t ptl_size16_(const ptl_char16 *text)
{
	size_t units = 0;

	while (text[units])
		units++;
	return 2 * (units + 1);
}

/* Each macro takes (shape, C type, field type, format or length, map, name). */
#define PTL_FIELD_(shape, ...) PTL_FIELD_##shape##_(__VA_ARGS__)
#define PTL_FIELD_VALUE_(c, type, format, map, name) {#name, type, format, PTL_ARRAY_NONE, 0, 0, map, 0},
#define PTL_FIELD_BOOL32_ PTL_FIELD_VALUE_
#define PTL_FIELD_POINTER_ PTL_FIELD_VALUE_
#define PTL_FIELD_OBJECT_ PTL_FIELD_VALUE_
#define PTL_FIELD_TEXT_ PTL_FIELD_VALUE_
#define PTL_FIELD_TEXT16_ PTL_FIELD_VALUE_
#define PTL_FIELD_COUNTED_ PTL_FIELD_VALUE_
#define PTL_FIELD_FIXED_(c, type, length, map, name) {#name, type, 0, PTL_ARRAY_FIXED, 0, length, map, 0},
#define PTL_FIELD_LIST_(c, type, length, map, name) {#name, type, 0, PTL_ARRAY_COUNTED, 0, 0, map, 0},
#define PTL_FIELD_STRUCT_(c, type, members, map, name) {#name, type, 0, PTL_ARRAY_NONE, members, 0, map, 0},

#define PTL_PARAMETER_(shape, ...) PTL_PARAMETER_##shape##_(__VA_ARGS__)
#define PTL_PARAMETER_VALUE_(c, type, format, map, name) , c name
#define PTL_PARAMETER_BOOL32_ PTL_PARAMETER_VALUE_
#define PTL_PARAMETER_POINTER_ PTL_PARAMETER_VALUE_
#define PTL_PARAMETER_OBJECT_ PTL_PARAMETER_VALUE_
#define PTL_PARAMETER_TEXT_ PTL_PARAMETER_VALUE_
#define PTL_PARAMETER_TEXT16_ PTL_PARAMETER_VALUE_
#define PTL_PARAMETER_COUNTED_(c, type, format, map, name) , c name, size_t name##_size
#define PTL_PARAMETER_FIXED_(c, type, length, map, name) , const c *name
#define PTL_PARAMETER_LIST_(c, type, length, map, name) , const c *name, size_t name##_count
#define PTL_PARAMETER_STRUCT_(c, type, members, map, name)

#define PTL_ARGUMENT_(shape, ...) PTL_ARGUMENT_##shape##_(__VA_ARGS__)
#define PTL_ARGUMENT_VALUE_(c, type, format, map, name) , name
#define PTL_ARGUMENT_BOOL32_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_POINTER_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_OBJECT_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_TEXT_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_TEXT16_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_COUNTED_(c, type, format, map, name) , name, name##_size
#define PTL_ARGUMENT_FIXED_ PTL_ARGUMENT_VALUE_
#define PTL_ARGUMENT_LIST_(c, type, length, map, name) , name, name##_count
#define PTL_ARGUMENT_STRUCT_(c, type, members, map, name)

#define PTL_LOCAL_(shape, ...) PTL_LOCAL_##shape##_(__VA_ARGS__)
#define PTL_LOCAL_VALUE_(c, type, format, map, name)
#define PTL_LOCAL_BOOL32_(c, type, format, map, name) const uint32_t name##_ptl_ = name;
#define PTL_LOCAL_POINTER_(c, type, format, map, name) const uint64_t name##_ptl_ = (uintptr_t)name;
#define PTL_LOCAL_OBJECT_ PTL_LOCAL_VALUE_
#define PTL_LOCAL_TEXT_(c, type, format, map, name) const char *const name##_ptl_ = name ? name : "";
#define PTL_LOCAL_TEXT16_(c, type, format, map, name)                                                                  \
	static const ptl_char16 name##_ptl_empty_ = 0;                                                                 \
	const ptl_char16 *const name##_ptl_ = name ? name : &name##_ptl_empty_;
#define PTL_LOCAL_COUNTED_(c, type, format, map, name) const uint16_t name##_ptl_ = ptl_counted_(name##_size);
#define PTL_LOCAL_FIXED_ PTL_LOCAL_VALUE_
#define PTL_LOCAL_LIST_(c, type, length, map, name) const uint16_t name##_ptl_ = ptl_counted_(name##_count);
#define PTL_LOCAL_STRUCT_ PTL_LOCAL_VALUE_

#define PTL_PIECE_(shape, ...) PTL_PIECE_##shape##_(__VA_ARGS__)
#define PTL_PIECE_VALUE_(c, type, format, map, name) {&name, sizeof(name)},
#define PTL_PIECE_BOOL32_(c, type, format, map, name) {&name##_ptl_, sizeof(name##_ptl_)},
#define PTL_PIECE_POINTER_ PTL_PIECE_BOOL32_
#define PTL_PIECE_OBJECT_(c, type, format, map, name) {name, sizeof(*name)},
#define PTL_PIECE_TEXT_(c, type, format, map, name) {name##_ptl_, strlen(name##_ptl_) + 1},
#define PTL_PIECE_TEXT16_(c, type, format, map, name) {name##_ptl_, ptl_size16_(name##_ptl_)},
#define PTL_PIECE_COUNTED_(c, type, format, map, name)                                                                 \
	{&name##_ptl_, 2}, {name, (size_t)name##_ptl_ << ((type) == PTL_TYPE_UTF16_COUNTED)},
#define PTL_PIECE_FIXED_(c, type, length, map, name) {name, (size_t)(length) * sizeof(c)},
#define PTL_PIECE_LIST_(c, type, length, map, name) {&name##_ptl_, 2}, {name, (size_t)name##_ptl_ * sizeof(c)},
#define PTL_PIECE_STRUCT_(c, type, members, map, name)

#define PTL_SPLICE_(...) __VA_ARGS__
#define PTL_FIRST_(first, ...) first
/* The expanded list begins with a comma, unless empty. */
#define PTL_PARAMETERS_(...) PTL_JOIN_(PTL_PARAMETERS_OF_, PTL_SOME_(__VA_ARGS__))
#define PTL_PARAMETERS_OF_0(...) void
#define PTL_PARAMETERS_OF_1(...) PTL_REST_(PTL_EACH_(PTL_PARAMETER_, __VA_ARGS__))
#define PTL_ARGUMENTS_(...) PTL_JOIN_(PTL_ARGUMENTS_OF_, PTL_SOME_(__VA_ARGS__))
#define PTL_ARGUMENTS_OF_0(...)
#define PTL_ARGUMENTS_OF_1(...) PTL_REST_(PTL_EACH_(PTL_ARGUMENT_, __VA_ARGS__))
#define PTL_REST_(...) PTL_REST_OF_(__VA_ARGS__)
#define PTL_REST_OF_(none, ...) __VA_ARGS__

/* PTL_EACH_(macro, message, fields...) expands to `macro field` for each field. */
#define PTL_COUNTED_(_m, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20,    \
		     _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, count, ...)                           \
	count
#define PTL_COUNT_(...)                                                                                                \
	PTL_COUNTED_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,  \
		     11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define PTL_SOME_(...)                                                                                                 \
	PTL_COUNTED_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  \
		     1, 1, 1, 1, 0, 0)
#define PTL_JOIN_(a, b) PTL_JOINED_(a, b)
#define PTL_JOINED_(a, b) a##b
#define PTL_EACH_(macro, ...) PTL_JOIN_(PTL_EACH_, PTL_COUNT_(__VA_ARGS__))(macro, __VA_ARGS__)
#define PTL_EACH_0(macro, message)
#define PTL_EACH_1(macro, message, field) macro field
#define PTL_EACH_2(macro, message, field, ...) macro field PTL_EACH_1(macro, message, __VA_ARGS__)
#define PTL_EACH_3(macro, message, field, ...) macro field PTL_EACH_2(macro, message, __VA_ARGS__)
#define PTL_EACH_4(macro, message, field, ...) macro field PTL_EACH_3(macro, message, __VA_ARGS__)
#define PTL_EACH_5(macro, message, field, ...) macro field PTL_EACH_4(macro, message, __VA_ARGS__)
#define PTL_EACH_6(macro, message, field, ...) macro field PTL_EACH_5(macro, message, __VA_ARGS__)
#define PTL_EACH_7(macro, message, field, ...) macro field PTL_EACH_6(macro, message, __VA_ARGS__)
#define PTL_EACH_8(macro, message, field, ...) macro field PTL_EACH_7(macro, message, __VA_ARGS__)
#define PTL_EACH_9(macro, message, field, ...) macro field PTL_EACH_8(macro, message, __VA_ARGS__)
#define PTL_EACH_10(macro, message, field, ...) macro field PTL_EACH_9(macro, message, __VA_ARGS__)
#define PTL_EACH_11(macro, message, field, ...) macro field PTL_EACH_10(macro, message, __VA_ARGS__)
#define PTL_EACH_12(macro, message, field, ...) macro field PTL_EACH_11(macro, message, __VA_ARGS__)
#define PTL_EACH_13(macro, message, field, ...) macro field PTL_EACH_12(macro, message, __VA_ARGS__)
#define PTL_EACH_14(macro, message, field, ...) macro field PTL_EACH_13(macro, message, __VA_ARGS__)
#define PTL_EACH_15(macro, message, field, ...) macro field PTL_EACH_14(macro, message, __VA_ARGS__)
#define PTL_EACH_16(macro, message, field, ...) macro field PTL_EACH_15(macro, message, __VA_ARGS__)
#define PTL_EACH_17(macro, message, field, ...) macro field PTL_EACH_16(macro, message, __VA_ARGS__)
#define PTL_EACH_18(macro, message, field, ...) macro field PTL_EACH_17(macro, message, __VA_ARGS__)
#define PTL_EACH_19(macro, message, field, ...) macro field PTL_EACH_18(macro, message, __VA_ARGS__)
#define PTL_EACH_20(macro, message, field, ...) macro field PTL_EACH_19(macro, message, __VA_ARGS__)
#define PTL_EACH_21(macro, message, field, ...) macro field PTL_EACH_20(macro, message, __VA_ARGS__)
#define PTL_EACH_22(macro, message, field, ...) macro field PTL_EACH_21(macro, message, __VA_ARGS__)
#define PTL_EACH_23(macro, message, field, ...) macro field PTL_EACH_22(macro, message, __VA_ARGS__)
#define PTL_EACH_24(macro, message, field, ...) macro field PTL_EACH_23(macro, message, __VA_ARGS__)
#define PTL_EACH_25(macro, message, field, ...) macro field PTL_EACH_24(macro, message, __VA_ARGS__)
#define PTL_EACH_26(macro, message, field, ...) macro field PTL_EACH_25(macro, message, __VA_ARGS__)
#define PTL_EACH_27(macro, message, field, ...) macro field PTL_EACH_26(macro, message, __VA_ARGS__)
#define PTL_EACH_28(macro, message, field, ...) macro field PTL_EACH_27(macro, message, __VA_ARGS__)
#define PTL_EACH_29(macro, message, field, ...) macro field PTL_EACH_28(macro, message, __VA_ARGS__)
#define PTL_EACH_30(macro, message, field, ...) macro field PTL_EACH_29(macro, message, __VA_ARGS__)
#define PTL_EACH_31(macro, message, field, ...) macro field PTL_EACH_30(macro, message, __VA_ARGS__)
#define PTL_EACH_32(macro, message, field, ...) macro field PTL_EACH_31(macro, message, __VA_ARGS__)

/* Pointers to all definitions of a module lie in one section, so that programs need not list definitions. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define PTL_RETAIN_ , retain
#endif
#endif
#ifndef PTL_RETAIN_
#define PTL_RETAIN_
#endif
#define PTL_COLLECT_(name, type, pointer, object)                                                                      \
	static type *const pointer __attribute__((section(name), used PTL_RETAIN_)) = &object
#define PTL_SEMICOLON_(name) extern struct ptl_enabled ptl_nothing_enabled

extern const struct ptl_event_definition *const __start_ptl_events[] __attribute__((weak, visibility("hidden")));
extern const struct ptl_event_definition *const __stop_ptl_events[] __attribute__((weak, visibility("hidden")));
extern const struct ptl_map_definition *const __start_ptl_maps[] __attribute__((weak, visibility("hidden")));
extern const struct ptl_map_definition *const __stop_ptl_maps[] __attribute__((weak, visibility("hidden")));

/*
 * Registers a provider with all events and maps that PTL_EVENT and PTL_MAP define in this module (program or shared
 * object). For details and errors see ptl_provider_register_arrays.
 */
static inline int ptl_provider_register(struct ptl_provider *provider)
{
	return ptl_provider_register_arrays(provider, __start_ptl_events, __stop_ptl_events, __start_ptl_maps,
					    __stop_ptl_maps);
}

#ifdef __cplusplus
}
#endif

#endif
