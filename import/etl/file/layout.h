/* SPDX-License-Identifier: BSD-2-Clause */
/* Layout of .etl files. docs/etl.md names the sources of these facts. */
#ifndef IMPORT_ETL_FILE_LAYOUT_H
#define IMPORT_ETL_FILE_LAYOUT_H

/* ---- WMI_BUFFER_HEADER, the header of a buffer */

#define ETL_BUFFER_HEADER 72u
#define ETL_BUFFER_SIZE_AT 0x00
#define ETL_BUFFER_TIME_AT 0x10
#define ETL_BUFFER_SEQUENCE_AT 0x18
#define ETL_BUFFER_CPU_AT 0x28
#define ETL_BUFFER_LOGGER_AT 0x2a
#define ETL_BUFFER_STATE_AT 0x2c
#define ETL_BUFFER_OFFSET_AT 0x30 /* end of the buffer's events */
#define ETL_BUFFER_FLAGS_AT 0x34
#define ETL_BUFFER_TYPE_AT 0x36

#define ETL_BUFFER_MAX (16u << 20) /* bytes; limit of StartTrace */

enum etl_buffer_flag {
	ETL_BUFFER_EVENTS_LOST = 0x02,
	ETL_BUFFER_BUFFER_LOST = 0x04,
	ETL_BUFFER_PROCESSOR_INDEX = 0x20, /* CPU has 16 bits instead of 8 */
	ETL_BUFFER_COMPRESSED = 0x40,
};

/* COMPRESSION_FORMAT_* of RtlDecompressBuffer; stored in the state of the first buffer. */
enum etl_compression {
	ETL_COMPRESSION_NONE = 0,
	ETL_COMPRESSION_LZNT1 = 2,
	ETL_COMPRESSION_XPRESS = 3,
	ETL_COMPRESSION_XPRESS_HUFFMAN = 4,
};

/* ---- event headers: byte 2 is the kind, byte 3 has marks */

#define ETL_MARK_HEADER 0x80u  /* TRACE_HEADER_FLAG */
#define ETL_MARK_EVENT 0x40u   /* TRACE_HEADER_EVENT_TRACE */
#define ETL_MARK_MESSAGE 0x10u /* TRACE_MESSAGE: the WPP software tracing's own header */

enum etl_header {
	ETL_SYSTEM32 = 1,
	ETL_SYSTEM64 = 2,
	ETL_COMPACT32 = 3,
	ETL_COMPACT64 = 4,
	ETL_FULL32 = 10,
	ETL_INSTANCE32 = 11,
	ETL_TIMED = 12,
	ETL_ERROR = 13,
	ETL_WNODE = 14,
	ETL_MESSAGE = 15,
	ETL_PERFINFO32 = 16,
	ETL_PERFINFO64 = 17,
	ETL_EVENT32 = 18,
	ETL_EVENT64 = 19,
	ETL_FULL64 = 20,
	ETL_INSTANCE64 = 21,
};

/* Groups of kernel events: high byte of the hook. */
#define ETL_GROUP_THREAD 0x05u
#define ETL_GROUP_PERFINFO 0x0fu
#define ETL_GROUP_STACK 0x18u

#define ETL_STACK_HEAD 16u /* bytes of a StackWalk event before the addresses */

#define ETL_SYSTEM_SIZE 32u
#define ETL_COMPACT_SIZE 24u
#define ETL_PERFINFO_SIZE 16u
#define ETL_FULL_SIZE 48u
#define ETL_INSTANCE_SIZE 72u
#define ETL_EVENT_SIZE 80u
#define ETL_MESSAGE_SIZE 8u

#define ETL_EVENT_PROVIDER_AT 24u
#define ETL_EVENT_ID_AT 40u

/* EVENT_HEADER.Flags and .EventProperty */
#define ETL_EVENT_EXTENDED 0x0001u
#define ETL_EVENT_PRIVATE 0x0002u  /* the thread has one time, in cycles */
#define ETL_EVENT_NO_TIMES 0x0010u /* the thread has no times */

/* Optional parts of a message header, in this order: TRACE_MESSAGE_* of EVENT_TRACE */
enum etl_message_flag {
	ETL_MESSAGE_SEQUENCE = 0x01,
	ETL_MESSAGE_GUID = 0x02,
	ETL_MESSAGE_COMPONENT = 0x04,
	ETL_MESSAGE_TIME = 0x08,
	ETL_MESSAGE_PERFORMANCE_TIME = 0x10,
	ETL_MESSAGE_SYSTEM = 0x20,
};

/* EVENT_HEADER_EXT_TYPE_* */
enum etl_extended {
	ETL_EXTENDED_RELATED = 1,
	ETL_EXTENDED_SID = 2,
	ETL_EXTENDED_TS_ID = 3,
	ETL_EXTENDED_INSTANCE = 4,
	ETL_EXTENDED_STACK32 = 5,
	ETL_EXTENDED_STACK64 = 6,
	ETL_EXTENDED_PEBS = 7,
	ETL_EXTENDED_COUNTERS = 8,
	ETL_EXTENDED_PSM_KEY = 9,
	ETL_EXTENDED_EVENT_KEY = 10,
	ETL_EXTENDED_SCHEMA = 11,
	ETL_EXTENDED_TRAITS = 12,
	ETL_EXTENDED_PROCESS_KEY = 13,
	ETL_EXTENDED_CONTROL = 14,
	ETL_EXTENDED_QPC_DELTA = 15,
	ETL_EXTENDED_CONTAINER = 16,
	ETL_EXTENDED_STACK_KEY32 = 17,
	ETL_EXTENDED_STACK_KEY64 = 18,
};

#define ETL_EXTENDED_HEADER 8u

/* ---- the payload of the first event: TRACE_LOGFILE_HEADER */

enum etl_clock { ETL_CLOCK_QPC = 1, ETL_CLOCK_SYSTEM = 2, ETL_CLOCK_CYCLES = 3 };

#define ETL_COMPRESSED_MODE 0x04000000u /* bit of LogFileMode */

#endif
