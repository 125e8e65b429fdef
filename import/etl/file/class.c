/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of kernel events, and the GUIDs of their classes in Windows' MOF. */
#include "import/etl/file/class.h"

#include <ptl/kernel.h>

#include "format/event/kernel.h"
#include "import/etl/file/layout.h"

#define HOOK_IMAGE_LOAD 0x030au /* in the group of processes, but in the class of images */

static const struct {
	bool known;
	struct ptl_guid guid;
} groups[] = {
	[0x00] = {true, PTL_GUID(0x68fdd900, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3)}, /* EventTrace */
	[0x01] = {true, PTL_GUID(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c)}, /* DiskIo */
	[0x02] = {true, PTL_GUID(0x3d6fa8d3, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c)}, /* PageFault */
	[0x03] = {true, FORMAT_PROCESS_GUID},
	[0x04] = {true, PTL_GUID(0x90cbdc39, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3)}, /* FileIo */
	[0x05] = {true, FORMAT_THREAD_GUID},
	[0x06] = {true, PTL_GUID(0x9a280ac0, 0xc8e0, 0x11d1, 0x84e2, 0x00c04fb998a2)}, /* TcpIp */
	[0x07] = {true, PTL_GUID(0x3282fc76, 0xfeed, 0x498e, 0x8aa7, 0xe70f459d430e)}, /* Job */
	[0x08] = {true, PTL_GUID(0xbf3a50c5, 0xa9c9, 0x4988, 0xa005, 0x2df0b7c80f80)}, /* UdpIp */
	[0x09] = {true, PTL_GUID(0xae53722e, 0xc863, 0x11d2, 0x8659, 0x00c04fa321a1)}, /* Registry */
	[0x0a] = {true, PTL_GUID(0x13976d09, 0xa327, 0x438c, 0x950b, 0x7f03192815c7)}, /* DbgPrint */
	[0x0b] = {true, PTL_GUID(0x01853a65, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235)}, /* SystemConfig */
	[0x0e] = {true, PTL_GUID(0x0268a8b6, 0x74fd, 0x4302, 0x9dd0, 0x6e8f1795c0cf)}, /* Pool */
	[0x0f] = {true, PTL_GUID(0xce1dbfb4, 0x137e, 0x4da6, 0x87b0, 0x3f59aa102cbc)}, /* PerfInfo */
	[0x10] = {true, PTL_GUID(0x222962ab, 0x6180, 0x4b88, 0xa825, 0x346b75f2a24a)}, /* Heap */
	[0x11] = {true, PTL_GUID(0x89497f50, 0xeffe, 0x4440, 0x8cf2, 0xce6b1cdcaca7)}, /* Object */
	[0x12] = {true, PTL_GUID(0xe43445e0, 0x0903, 0x48c3, 0xb878, 0xff0fccebdd04)}, /* Power */
	[0x14] = {true, FORMAT_IMAGE_GUID},
	[0x16] = {true, PTL_GUID(0x7687a439, 0xf752, 0x45b8, 0xb741, 0x321aec0f8df9)}, /* Cc */
	[0x17] = {true, PTL_GUID(0x3ac66736, 0xcc59, 0x4cff, 0x8115, 0x8df50e39816b)}, /* CritSec */
	[0x18] = {true, PTL_GUID(0xdef2fe46, 0x7bd6, 0x4b80, 0xbd94, 0xf57fe20d0ce3)}, /* StackWalk */
	[0x1a] = {true, PTL_GUID(0x45d8cccd, 0x539f, 0x4b72, 0xa8b7, 0x5c683142609a)}, /* ALPC */
	[0x1b] = {true, PTL_GUID(0xd837ca92, 0x12b9, 0x44a5, 0xad6a, 0x3a65b3578aa8)}, /* SplitIo */
	[0x1c] = {true, PTL_GUID(0xc861d0e2, 0xa2c1, 0x4d36, 0x9f9c, 0x970bab943a12)}, /* ThreadPool */
};

void etl_class_of(struct etl_record *record, uint16_t version, uint16_t hook)
{
	const unsigned group = hook >> 8;
	struct ptl_descriptor *descriptor = &record->descriptor;

	record->kind = ETL_KIND_SYSTEM;
	record->hook = hook;
	descriptor->opcode = (uint8_t)hook;
	descriptor->version = version > UINT8_MAX ? UINT8_MAX : (uint8_t)version;
	if (hook == HOOK_IMAGE_LOAD) {
		descriptor->provider = PTL_PROVIDER_IMAGE;
	} else if (group < sizeof(groups) / sizeof(groups[0]) && groups[group].known) {
		descriptor->provider = groups[group].guid;
	} else {
		descriptor->provider = PTL_PROVIDER_KERNEL;
		descriptor->id = hook;
	}
}
