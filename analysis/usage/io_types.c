/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that the fold of input and output reads, with their fields. */
#include "analysis/usage/io_state.h"

#define WINDOWS "Windows Kernel"
#define BLOCK_FIELDS                                                                                                   \
	{                                                                                                              \
		"dev", "sector", "nr_sector", "rwbs", "error"                                                          \
	}
#define SOCK_FIELDS                                                                                                    \
	{                                                                                                              \
		"sk", "ret"                                                                                            \
	}
#define STATE_FIELDS                                                                                                   \
	{                                                                                                              \
		"skaddr", "newstate", "sport", "dport", "family", "saddr", "daddr", "saddr_v6", "daddr_v6"             \
	}
#define DISK_FIELDS                                                                                                    \
	{                                                                                                              \
		"DiskNumber", "TransferSize", "HighResResponseTime", "IssuingThreadId", "FileName"                     \
	}
#define FILE_FIELDS                                                                                                    \
	{                                                                                                              \
		"IrpPtr", "IoSize", "FileName", "TTID", "OpenPath", "NtStatus"                                         \
	}
#define TCP_FIELDS                                                                                                     \
	{                                                                                                              \
		"PID", "size", "saddr", "daddr", "sport", "dport"                                                      \
	}

const struct usage_event_type usage_io_types[] = {
	{"block", "block_rq_insert", USAGE_BLOCK_INSERT, BLOCK_FIELDS},
	{"block", "block_rq_issue", USAGE_BLOCK_ISSUE, BLOCK_FIELDS},
	{"block", "block_rq_complete", USAGE_BLOCK_COMPLETE, BLOCK_FIELDS},
	/* Since Linux 6.19, a call that opens a file has the file's name. */
	{"syscalls", "sys_enter_*", USAGE_SYSTEM_ENTER, {"__syscall_nr", "fd", "out_fd", "oldfd", "__filename_val"}},
	{"syscalls", "sys_exit_*", USAGE_SYSTEM_EXIT, {"__syscall_nr", "ret"}},
	{"raw_syscalls", "sys_enter", USAGE_RAW_ENTER, {"id", "args"}},
	{"raw_syscalls", "sys_exit", USAGE_RAW_EXIT, {"id", "ret"}},
	{"filemap", "mm_filemap_add_to_page_cache", USAGE_PAGE_CACHE, {"s_dev", "i_ino", "order"}},
	{"sock", "inet_sock_set_state", USAGE_SOCKET_STATE, STATE_FIELDS},
	{"sock", "sock_send_length", USAGE_SOCKET_SEND, SOCK_FIELDS},
	{"sock", "sock_recv_length", USAGE_SOCKET_RECEIVE, SOCK_FIELDS},
	{"net", "net_dev_queue", USAGE_INTERFACE_SEND, {"name", "len", "common_flags"}},
	{"net", "netif_receive_skb", USAGE_INTERFACE_RECEIVE, {"name", "len", "common_flags"}},
	{WINDOWS, "EventTrace/Header", USAGE_WINDOWS_CLOCK, {"PerfFreq"}},
	{WINDOWS, "DiskIO/Read", USAGE_WINDOWS_DISK_READ, DISK_FIELDS},
	{WINDOWS, "DiskIO/Write", USAGE_WINDOWS_DISK_WRITE, DISK_FIELDS},
	{WINDOWS, "DiskIO/FlushBuffers", USAGE_WINDOWS_DISK_FLUSH, DISK_FIELDS},
	{WINDOWS, "FileIO/Read", USAGE_WINDOWS_FILE_READ, FILE_FIELDS},
	{WINDOWS, "FileIO/Write", USAGE_WINDOWS_FILE_WRITE, FILE_FIELDS},
	{WINDOWS, "FileIO/Create", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/Cleanup", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/Close", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/Flush", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/SetInfo", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/Delete", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/Rename", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/QueryInfo", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/FSControl", USAGE_WINDOWS_FILE_OTHER, FILE_FIELDS},
	{WINDOWS, "FileIO/OperationEnd", USAGE_WINDOWS_FILE_END, FILE_FIELDS},
	{WINDOWS, "Memory/HardFault", USAGE_WINDOWS_FAULT, {"InitialTime", "ByteCount", "TThreadId", "FileName"}},
	{WINDOWS, "TcpIp/Send", USAGE_WINDOWS_SEND, TCP_FIELDS},
	{WINDOWS, "TcpIp/SendIPV6", USAGE_WINDOWS_SEND, TCP_FIELDS},
	{WINDOWS, "TcpIp/Recv", USAGE_WINDOWS_RECEIVE, TCP_FIELDS},
	{WINDOWS, "TcpIp/RecvIPV6", USAGE_WINDOWS_RECEIVE, TCP_FIELDS},
	{WINDOWS, "UdpIp/Send", USAGE_WINDOWS_SEND, TCP_FIELDS},
	{WINDOWS, "UdpIp/SendIPV6", USAGE_WINDOWS_SEND, TCP_FIELDS},
	{WINDOWS, "UdpIp/Recv", USAGE_WINDOWS_RECEIVE, TCP_FIELDS},
	{WINDOWS, "UdpIp/RecvIPV6", USAGE_WINDOWS_RECEIVE, TCP_FIELDS},
};
const size_t usage_io_type_count = sizeof(usage_io_types) / sizeof(usage_io_types[0]);
