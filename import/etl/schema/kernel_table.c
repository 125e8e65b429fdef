/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of kernel classes, in all versions. */
#include "import/etl/schema/kernel_table.h"

#include "format/event/kernel.h"

#define KERNEL "Windows Kernel"
#define CONTROL "KernelTraceControl" /* library that merges traces */

enum group {
	HEADER,
	PROCESS,
	THREAD,
	IMAGE,
	DISK,
	FILE_IO,
	FAULT,
	TCP,
	UDP,
	REGISTRY,
	PERFINFO,
	STACK,
	CONFIG,
	SPLIT,
	ALPC,
	POOL,
	THREAD_POOL,
	HEAP,
	CRITICAL,
	LOST,
	SYSTEM,
	IMAGE_ID,
	METADATA,
};

const struct etl_kernel_class etl_kernel_classes[] = {
	[HEADER] = {PTL_GUID(0x68fdd900, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), "EventTrace", KERNEL},
	[PROCESS] = {FORMAT_PROCESS_GUID, "Process", KERNEL},
	[THREAD] = {FORMAT_THREAD_GUID, "Thread", KERNEL},
	[IMAGE] = {FORMAT_IMAGE_GUID, "Image", KERNEL},
	[DISK] = {PTL_GUID(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), "DiskIO", KERNEL},
	[FILE_IO] = {PTL_GUID(0x90cbdc39, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), "FileIO", KERNEL},
	[FAULT] = {PTL_GUID(0x3d6fa8d3, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), "Memory", KERNEL},
	[TCP] = {PTL_GUID(0x9a280ac0, 0xc8e0, 0x11d1, 0x84e2, 0x00c04fb998a2), "TcpIp", KERNEL},
	[UDP] = {PTL_GUID(0xbf3a50c5, 0xa9c9, 0x4988, 0xa005, 0x2df0b7c80f80), "UdpIp", KERNEL},
	[REGISTRY] = {PTL_GUID(0xae53722e, 0xc863, 0x11d2, 0x8659, 0x00c04fa321a1), "Registry", KERNEL},
	[PERFINFO] = {PTL_GUID(0xce1dbfb4, 0x137e, 0x4da6, 0x87b0, 0x3f59aa102cbc), "PerfInfo", KERNEL},
	[STACK] = {PTL_GUID(0xdef2fe46, 0x7bd6, 0x4b80, 0xbd94, 0xf57fe20d0ce3), "StackWalk", KERNEL},
	[CONFIG] = {PTL_GUID(0x01853a65, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235), "SystemConfig", KERNEL},
	[SPLIT] = {PTL_GUID(0xd837ca92, 0x12b9, 0x44a5, 0xad6a, 0x3a65b3578aa8), "SplitIo", KERNEL},
	[ALPC] = {PTL_GUID(0x45d8cccd, 0x539f, 0x4b72, 0xa8b7, 0x5c683142609a), "ALPC", KERNEL},
	[POOL] = {PTL_GUID(0x0268a8b6, 0x74fd, 0x4302, 0x9dd0, 0x6e8f1795c0cf), "Pool", KERNEL},
	[THREAD_POOL] = {PTL_GUID(0xc861d0e2, 0xa2c1, 0x4d36, 0x9f9c, 0x970bab943a12), "ThreadPool", KERNEL},
	[HEAP] = {PTL_GUID(0x222962ab, 0x6180, 0x4b88, 0xa825, 0x346b75f2a24a), "Heap", KERNEL},
	[CRITICAL] = {PTL_GUID(0x3ac66736, 0xcc59, 0x4cff, 0x8115, 0x8df50e39816b), "CritSec", KERNEL},
	[LOST] = {PTL_GUID(0x6a399ae0, 0x4bc6, 0x4de9, 0x870b, 0x3657f8947e7e), "LostEvent", KERNEL},
	[SYSTEM] = {PTL_GUID(0x9b79ee91, 0xb5fd, 0x41c0, 0xa243, 0x4248e266e9d0), "SysConfig", KERNEL},
	[IMAGE_ID] = {PTL_GUID(0xb3e675d7, 0x2554, 0x4f18, 0x830b, 0x2762732560de), "ImageID", CONTROL},
	[METADATA] = {PTL_GUID(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80ff, 0x839482e37671), "MetaData", CONTROL},
};
const size_t etl_kernel_class_count = sizeof(etl_kernel_classes) / sizeof(etl_kernel_classes[0]);

#define LIFE "1 Start,2 End,3 DCStart,4 DCEnd"
#define LOADED "10 Load,2 Unload,3 DCStart,4 DCEnd"
#define TCP_ENDS(address) "PID:u4 size:u4 daddr:" address " saddr:" address " dport:n sport:n "
#define TCP_OPTIONS "mss:u2 sackopt:u2 tsopt:u2 wsopt:u2 rcvwin:u4 rcvwinscale:i2 sndwinscale:i2 "
#define REGISTRY_OPCODES                                                                                               \
	"10 Create,11 Open,12 Delete,13 Query,14 SetValue,15 DeleteValue,16 QueryValue,17 EnumerateKey,"               \
	"18 EnumerateValueKey,19 QueryMultipleValue,20 SetInformation,21 Flush"
#define CONFIG_CPU "MHz:u4 NumberOfProcessors:u4 MemSize:u4 PageSize:u4 AllocationGranularity:u4 ComputerName:w256 "

const struct etl_kernel_row etl_kernel_rows[] = {
	{HEADER, 0, "0 Header",
	 "BufferSize:u4 Version:u4 ProviderVersion:u4 NumberOfProcessors:u4 EndTime:f TimerResolution:u4 "
	 "MaxFileSize:u4 "
	 "LogFileMode:x4 BuffersWritten:u4 StartBuffers:u4 PointerSize:u4 EventsLost:u4 CPUSpeed:u4 LoggerName:p "
	 "LogFileName:p TimeZoneInformation:b176 BootTime:f PerfFreq:u8 StartTime:f ReservedFlags:x4 BuffersLost:u4 "
	 "SessionNameString:w LogFileNameString:w"},
	{HEADER, 0, "5 Extension,32 EndExtension",
	 "GroupMask1:x4 GroupMask2:x4 GroupMask3:x4 GroupMask4:x4 GroupMask5:x4 GroupMask6:x4 GroupMask7:x4 "
	 "GroupMask8:x4 "
	 "KernelEventVersion:x4"},
	{HEADER, 0, "8 RundownComplete", ""},
	{HEADER, 0, "64 DbgIdRSDS", "Guid:g Age:u4 PdbName:a"},
	{HEADER, 0, "66 BuildInfo", "BuildString:a"},
	{HEADER, 0, "67 ProviderBinaryPath", "GuidCount:u4 Guid:g[GuidCount BinaryPath:w"},
	{HEADER, 0, "80 PartitionInfoExtension",
	 "EventVersion:u2 Reserved:u2 PartitionType:u4 QpcOffsetFromRoot:i8 PartitionId:g ParentId:g"},
	{HEADER, 0, "82 LastDroppedTimes", "TimeStampCount:u4 Padding:u4 TimeStamp:u8[TimeStampCount"},

	{PROCESS, 0, LIFE, "ProcessId:p ParentId:p UserSID:s ImageFileName:a"},
	{PROCESS, 1, LIFE,
	 "PageDirectoryBase:p ProcessId:u4 ParentId:u4 SessionId:u4 ExitStatus:i4 UserSID:s ImageFileName:a"},
	{PROCESS, 2, LIFE ",39 Defunct",
	 "UniqueProcessKey:p ProcessId:u4 ParentId:u4 SessionId:u4 ExitStatus:i4 UserSID:s ImageFileName:a "
	 "CommandLine:w"},
	{PROCESS, 3, LIFE ",39 Defunct",
	 "UniqueProcessKey:p ProcessId:u4 ParentId:u4 SessionId:u4 ExitStatus:i4 DirectoryTableBase:p UserSID:s "
	 "ImageFileName:a CommandLine:w"},
	{PROCESS, 4, LIFE ",39 Defunct",
	 "UniqueProcessKey:p ProcessId:u4 ParentId:u4 SessionId:u4 ExitStatus:i4 DirectoryTableBase:p Flags:x4 "
	 "UserSID:s "
	 "ImageFileName:a CommandLine:w PackageFullName:w ApplicationId:w"},
	{PROCESS, 2, "32 PerfCtr,33 PerfCtrRundown",
	 "ProcessId:u4 PageFaultCount:u4 HandleCount:u4 Reserved:u4 PeakVirtualSize:z PeakWorkingSetSize:z "
	 "PeakPagefileUsage:z QuotaPeakPagedPoolUsage:z QuotaPeakNonPagedPoolUsage:z VirtualSize:z WorkingSetSize:z "
	 "PagefileUsage:z QuotaPagedPoolUsage:z QuotaNonPagedPoolUsage:z PrivatePageCount:z"},

	{THREAD, 0, LIFE, "TThreadId:u4 ProcessId:u4"},
	{THREAD, 1, "1 Start,3 DCStart",
	 "ProcessId:u4 TThreadId:u4 StackBase:p StackLimit:p UserStackBase:p UserStackLimit:p StartAddr:p "
	 "Win32StartAddr:p WaitMode:i1"},
	{THREAD, 1, "2 End,4 DCEnd", "ProcessId:u4 TThreadId:u4"},
	{THREAD, 2, LIFE,
	 "ProcessId:u4 TThreadId:u4 StackBase:p StackLimit:p UserStackBase:p UserStackLimit:p StartAddr:p "
	 "Win32StartAddr:p TebBase:p SubProcessTag:x4"},
	{THREAD, 3, LIFE,
	 "ProcessId:u4 TThreadId:u4 StackBase:p StackLimit:p UserStackBase:p UserStackLimit:p Affinity:p "
	 "Win32StartAddr:p TebBase:p SubProcessTag:x4 BasePriority:u1 PagePriority:u1 IoPriority:u1 ThreadFlags:u1 "
	 "ThreadName:o"},
	{THREAD, 4, LIFE,
	 "ProcessId:u4 TThreadId:u4 StackBase:p StackLimit:p UserStackBase:p UserStackLimit:p Affinity:p "
	 "Win32StartAddr:p TebBase:p SubProcessTag:x4 BasePriority:u1 PagePriority:u1 IoPriority:u1 ThreadFlags:u1 "
	 "ThreadName:w"},
	{THREAD, 1, "36 CSwitch",
	 "NewThreadId:u4 OldThreadId:u4 NewThreadPriority:i1 OldThreadPriority:i1 NewThreadQuantum:i1 "
	 "OldThreadQuantum:i1 "
	 "OldThreadWaitReason:i1 OldThreadWaitMode:i1 OldThreadState:i1 OldThreadWaitIdealProcessor:i1 "
	 "NewThreadWaitTime:x4"},
	{THREAD, 2, "36 CSwitch",
	 "NewThreadId:u4 OldThreadId:u4 NewThreadPriority:i1 OldThreadPriority:i1 PreviousCState:u1 SpareByte:i1 "
	 "OldThreadWaitReason:i1 OldThreadWaitMode:i1 OldThreadState:i1 OldThreadWaitIdealProcessor:i1 "
	 "NewThreadWaitTime:x4 Reserved:u4"},
	{THREAD, 2, "37 CompCS", "*"},
	{THREAD, 2, "48 ReserveCreate", "Reserve:p Period:u4 Budget:u4 ObjectFlags:u4 Processor:i1"},
	{THREAD, 2, "49 ReserveDelete", "Reserve:p"},
	{THREAD, 2, "50 ReadyThread", "TThreadId:u4 AdjustReason:i1 AdjustIncrement:i1 Flag:i1 Reserved:i1"},
	{THREAD, 2, "52 ReserveJoinThread,53 ReserveDisjoinThread", "Reserve:p TThreadId:u4"},
	{THREAD, 2, "54 ReserveState", "Reserve:p DispatchState:i1 Replenished:u1"},
	{THREAD, 2, "55 ReserveBandwidth", "Reserve:p Period:u4 Budget:u4"},
	{THREAD, 2, "56 ReserveLateCount", "Reserve:p LateCountIncrement:i4"},
	{THREAD, 1, "57 WorkerThread", "TThreadId:u4 StartTime:u8 ThreadRoutine:p"},
	{THREAD, 2, "72 SetName", "ProcessId:u4 TThreadId:u4 ThreadName:w"},

	{IMAGE, 0, LOADED, "BaseAddress:p ModuleSize:u4 ImageFileName:W"},
	{IMAGE, 1, LOADED, "ImageBase:p ImageSize:z ProcessId:u4 FileName:W"},
	{IMAGE, 2, LOADED,
	 "ImageBase:p ImageSize:z ProcessId:u4 ImageChecksum:x4 TimeDateStamp:u4 Reserved0:u4 DefaultBase:p "
	 "Reserved1:u4 "
	 "Reserved2:u4 Reserved3:u4 Reserved4:u4 FileName:W BuildId:B PdbFileName:N"},
	{IMAGE, 3, LOADED,
	 "ImageBase:p ImageSize:z ProcessId:u4 ImageChecksum:x4 TimeDateStamp:u4 SignatureLevel:u1 SignatureType:u1 "
	 "Reserved0:u2 DefaultBase:p Reserved1:u4 Reserved2:u4 Reserved3:u4 Reserved4:u4 FileName:W BuildId:B "
	 "PdbFileName:N"},
	{IMAGE, 2, "33 KernelBase", "ImageBase:p"},
	{IMAGE, 2, "34 HypercallPage", "HypercallPageVa:p"},

	{DISK, 0, "10 Read,11 Write",
	 "DiskNumber:u4 IrpFlags:x4 TransferSize:u4 Reserved:u4 ByteOffset:u8 FileObject:p Irp:p "
	 "HighResResponseTime:u8 FileName:F"},
	{DISK, 3, "10 Read,11 Write",
	 "DiskNumber:u4 IrpFlags:x4 TransferSize:u4 Reserved:u4 ByteOffset:u8 FileObject:p Irp:p "
	 "HighResResponseTime:u8 "
	 "IssuingThreadId:u4 FileName:F"},
	{DISK, 0, "12 ReadInit,13 WriteInit,15 FlushInit", "Irp:p"},
	{DISK, 3, "12 ReadInit,13 WriteInit,15 FlushInit", "Irp:p IssuingThreadId:u4"},
	{DISK, 0, "14 FlushBuffers", "DiskNumber:u4 IrpFlags:x4 HighResResponseTime:u8 Irp:p"},
	{DISK, 3, "14 FlushBuffers", "DiskNumber:u4 IrpFlags:x4 HighResResponseTime:u8 Irp:p IssuingThreadId:u4"},
	{DISK, 0, "34 DrvMjFnCall",
	 "MajorFunction:u4 MinorFunction:u4 RoutineAddr:p FileObject:p Irp:p UniqMatchId:u4 FileName:F"},
	{DISK, 0, "35 DrvMjFnRet", "Irp:p UniqMatchId:u4"},
	{DISK, 0, "37 DrvComplRout", "Routine:p IrpPtr:p UniqMatchId:u4"},
	{DISK, 0, "52 DrvComplReq", "RoutineAddr:p Irp:p UniqMatchId:u4"},
	{DISK, 0, "53 DrvComplReqRet", "Irp:p UniqMatchId:u4"},

	{FILE_IO, 0, "0 Name,32 FileCreate,35 FileDelete,36 FileRundown", "FileObject:p FileName:W"},
	{FILE_IO, 2, "64 Create",
	 "IrpPtr:p TTID:p FileObject:p CreateOptions:x4 FileAttributes:x4 ShareAccess:x4 OpenPath:W"},
	{FILE_IO, 3, "64 Create",
	 "IrpPtr:p FileObject:p TTID:u4 CreateOptions:x4 FileAttributes:x4 ShareAccess:x4 OpenPath:W"},
	{FILE_IO, 2, "65 Cleanup,66 Close,73 Flush", "IrpPtr:p TTID:p FileObject:p FileKey:p FileName:F"},
	{FILE_IO, 3, "65 Cleanup,66 Close,73 Flush", "IrpPtr:p FileObject:p FileKey:p TTID:u4 FileName:F"},
	{FILE_IO, 2, "67 Read,68 Write",
	 "Offset:u8 IrpPtr:p TTID:p FileObject:p FileKey:p IoSize:u4 IoFlags:x4 FileName:F"},
	{FILE_IO, 3, "67 Read,68 Write",
	 "Offset:u8 IrpPtr:p FileObject:p FileKey:p TTID:u4 IoSize:u4 IoFlags:x4 FileName:F"},
	{FILE_IO, 2, "69 SetInfo,70 Delete,71 Rename,74 QueryInfo,75 FSControl",
	 "IrpPtr:p TTID:p FileObject:p FileKey:p ExtraInfo:p InfoClass:u4 FileName:F"},
	{FILE_IO, 3, "69 SetInfo,70 Delete,71 Rename,74 QueryInfo,75 FSControl",
	 "IrpPtr:p FileObject:p FileKey:p ExtraInfo:p TTID:u4 InfoClass:u4 FileName:F"},
	{FILE_IO, 2, "72 DirEnum,77 DirNotify",
	 "IrpPtr:p TTID:p FileObject:p FileKey:p Length:u4 InfoClass:u4 FileIndex:u4 FileName:w DirectoryName:F"},
	{FILE_IO, 3, "72 DirEnum,77 DirNotify",
	 "IrpPtr:p FileObject:p FileKey:p TTID:u4 Length:u4 InfoClass:u4 FileIndex:u4 FileName:w DirectoryName:F"},
	{FILE_IO, 2, "76 OperationEnd", "IrpPtr:p ExtraInfo:p NtStatus:x4"},

	{FAULT, 0,
	 "10 TransitionFault,11 DemandZeroFault,12 CopyOnWrite,13 GuardPageFault,14 HardPageFault,15 AccessViolation",
	 "VirtualAddress:p ProgramCounter:p"},
	{FAULT, 0, "32 HardFault",
	 "InitialTime:t ReadOffset:x8 VirtualAddress:p FileObject:p TThreadId:u4 ByteCount:u4 FileName:F"},
	{FAULT, 2, "98 VirtualAlloc,99 VirtualFree", "BaseAddress:p RegionSize:z ProcessId:u4 Flags:x4"},
	{FAULT, 0, "100 HRRundown", "HeapHandle:p HRFlags:x4 HRPid:u4 HRRangeCount:u4"},
	{FAULT, 0, "101 HRCreate", "HeapHandle:p FirstRangeSize:z HRCreateFlags:x4"},
	{FAULT, 0, "102 HRReserve,103 HRRelease", "HeapHandle:p HRAddress:p HRSize:z"},
	{FAULT, 0, "104 HRDestroy", "HeapHandle:p"},
	{FAULT, 0, "105 ImageLoadBacked", "FileObject:p DeviceChar:x4 FileChar:x2 LoadFlags:x2 FileName:F"},

	{TCP, 0, "10 Send,11 Recv,12 Connect,13 Disconnect,14 Retransmit,15 Accept",
	 "daddr:4 saddr:4 dport:n sport:n size:u4 PID:u4"},
	{TCP, 1, "10 Send", TCP_ENDS("4") "startime:u4 endtime:u4 connid:p seqnum:u4"},
	{TCP, 1,
	 "11 Recv,13 Disconnect,14 Retransmit,16 Reconnect,18 TCPCopy,19 ARPCopy,20 FullACK,21 PartACK,22 DupACK",
	 TCP_ENDS("4") "connid:p seqnum:u4"},
	{TCP, 1, "12 Connect,15 Accept", TCP_ENDS("4") TCP_OPTIONS "connid:p seqnum:u4"},
	{TCP, 1, "17 Fail", "Proto:u4"},
	{TCP, 2, "10 Send", TCP_ENDS("4") "startime:u4 endtime:u4 seqnum:u4 connid:p"},
	{TCP, 2, "11 Recv,13 Disconnect,14 Retransmit,16 Reconnect,18 TCPCopy", TCP_ENDS("4") "seqnum:u4 connid:p"},
	{TCP, 2, "12 Connect,15 Accept", TCP_ENDS("4") TCP_OPTIONS "seqnum:u4 connid:p"},
	{TCP, 2, "17 Fail", "Proto:u2 FailureCode:u2"},
	{TCP, 2, "26 SendIPV6", TCP_ENDS("6") "startime:u4 endtime:u4 seqnum:u4 connid:p"},
	{TCP, 2, "27 RecvIPV6,29 DisconnectIPV6,30 RetransmitIPV6,32 ReconnectIPV6,34 TCPCopyIPV6",
	 TCP_ENDS("6") "seqnum:u4 connid:p"},
	{TCP, 2, "28 ConnectIPV6,31 AcceptIPV6", TCP_ENDS("6") TCP_OPTIONS "seqnum:u4 connid:p"},

	{UDP, 0, "10 Send,11 Recv", "context:p saddr:4 sport:n size:u2 daddr:4 dport:n dsize:u2"},
	{UDP, 1, "10 Send,11 Recv", TCP_ENDS("4")},
	{UDP, 2, "10 Send,11 Recv", TCP_ENDS("4") "seqnum:u4 connid:p"},
	{UDP, 2, "17 Fail", "Proto:u2 FailureCode:u2"},
	{UDP, 2, "26 SendIPV6,27 RecvIPV6", TCP_ENDS("6") "seqnum:u4 connid:p"},

	{REGISTRY, 0, REGISTRY_OPCODES, "Status:p KeyHandle:p ElapsedTime:i8 KeyName:w"},
	{REGISTRY, 1, REGISTRY_OPCODES ",22 RunDown", "Status:p KeyHandle:p ElapsedTime:i8 Index:u4 KeyName:w"},
	{REGISTRY, 2,
	 REGISTRY_OPCODES ",22 KCBCreate,23 KCBDelete,24 KCBRundownBegin,25 KCBRundownEnd,26 Virtualize,27 Close",
	 "InitialTime:t Status:x4 Index:u4 KeyHandle:p KeyName:w"},

	{PERFINFO, 0, "46 Sample", "InstructionPointer:p ThreadId:u4 Count:u2 Reserved:u2"},
	{PERFINFO, 0, "47 PmcCounterProf", "InstructionPointer:p ThreadId:u4 ProfileSource:u2 Reserved:u2"},
	{PERFINFO, 0, "51 SysClEnter", "SysCallAddress:p"},
	{PERFINFO, 0, "52 SysClExit", "SysCallNtStatus:x4"},
	{PERFINFO, 0, "58 DebuggerEnabled", ""},
	{PERFINFO, 0, "67 ISR", "InitialTime:t Routine:p ReturnValue:u4"},
	{PERFINFO, 2, "67 ISR", "InitialTime:t Routine:p ReturnValue:u1 Vector:u1 Reserved:u2"},
	{PERFINFO, 0, "66 ThreadedDPC,68 DPC,69 TimerDPC", "InitialTime:t Routine:p"},
	{PERFINFO, 0, "72 SetInterval,73 CollectionStart,74 CollectionEnd", "Source:u4 NewInterval:u4 OldInterval:u4"},
	{PERFINFO, 3, "72 SetInterval,73 CollectionStart,74 CollectionEnd",
	 "Source:u4 NewInterval:u4 OldInterval:u4 SourceName:w"},

	{STACK, 0, "32 Stack", "EventTimeStamp:t StackProcess:u4 StackThread:u4 Stack:P"},
	{STACK, 2, "35 KeyDelete,36 KeyRundown", "StackKey:p Stack:P"},
	{STACK, 2, "37 KeyKernel,38 KeyUser", "EventTimeStamp:t StackProcess:u4 StackThread:u4 StackKey:p"},

	{CONFIG, 0, "10 CPU", CONFIG_CPU "DomainName:w132 HyperThreadingFlag:p"},
	{CONFIG, 2, "10 CPU", CONFIG_CPU "DomainName:w134 HyperThreadingFlag:p"},
	{CONFIG, 0, "11 PhyDisk",
	 "DiskNumber:u4 BytesPerSector:u4 SectorsPerTrack:u4 TracksPerCylinder:u4 Cylinders:u8 SCSIPort:u4 SCSIPath:u4 "
	 "SCSITarget:u4 SCSILun:u4 Manufacturer:w256 PartitionCount:u4 WriteCacheEnabled:u1 Pad:u1 BootDriveLetter:w3 "
	 "Spare:w2"},
	{CONFIG, 0, "12 LogDisk",
	 "StartOffset:u8 PartitionSize:u8 DiskNumber:u4 Size:u4 DriveType:u4 DriveLetterString:w4 Pad1:u4 "
	 "PartitionNumber:u4 SectorsPerCluster:u4 BytesPerSector:u4 Pad2:u4 NumberOfFreeClusters:i8 "
	 "TotalNumberOfClusters:i8 FileSystem:w16 VolumeExt:u4"},
	{CONFIG, 0, "13 NIC",
	 "NICName:w256 Index:u4 PhysicalAddrLen:u4 PhysicalAddr:w8 Size:u4 IpAddress:4 SubnetMask:4 DhcpServer:4 "
	 "Gateway:4 PrimaryWinsServer:4 SecondaryWinsServer:4 DnsServer1:4 DnsServer2:4 DnsServer3:4 DnsServer4:4 "
	 "Data:u4"},
	{CONFIG, 2, "13 NIC",
	 "PhysicalAddr:x8 PhysicalAddrLen:u4 Ipv4Index:u4 Ipv6Index:u4 NICDescription:w IpAddresses:w "
	 "DnsServerAddresses:w"},
	{CONFIG, 0, "14 Video",
	 "MemorySize:u4 XResolution:u4 YResolution:u4 BitsPerPixel:u4 VRefresh:u4 ChipType:w256 DACType:w256 "
	 "AdapterString:w256 BiosString:w256 DeviceId:w256 StateFlags:x4"},
	{CONFIG, 0, "15 Services", "ServiceName:w34 DisplayName:w256 ProcessName:w34 ProcessId:u4"},
	{CONFIG, 2, "15 Services",
	 "ProcessId:u4 ServiceState:x4 SubProcessTag:x4 ServiceName:w DisplayName:w ProcessName:w"},
	{CONFIG, 0, "16 Power", "S1:u1 S2:u1 S3:u1 S4:u1 S5:u1 Pad1:u1 Pad2:u1 Pad3:u1"},
	{CONFIG, 2, "17 Network", "TcbTablePartitions:u4 MaxHashTableSize:u4 MaxUserPort:u4 TcpTimedWaitDelay:u4"},
	{CONFIG, 0, "21 IRQ", "IRQAffinity:x8 IRQNum:u4 DeviceDescriptionLen:u4 DeviceDescription:w"},
	{CONFIG, 0, "22 PnP",
	 "IDLength:u4 DescriptionLength:u4 FriendlyNameLength:u4 DeviceID:w DeviceDescription:w FriendlyName:w"},
	{CONFIG, 4, "22 PnP",
	 "ClassGuid:g UpperFiltersCount:u4 LowerFiltersCount:u4 DeviceID:w DeviceDescription:w FriendlyName:w "
	 "PdoName:w "
	 "ServiceName:w"},
	{CONFIG, 5, "22 PnP",
	 "ClassGuid:g UpperFiltersCount:u4 LowerFiltersCount:u4 DevStatus:x4 DevProblem:x4 DeviceID:w "
	 "DeviceDescription:w FriendlyName:w PdoName:w ServiceName:w"},
	{CONFIG, 2, "23 IDEChannel",
	 "TargetId:u4 DeviceType:x4 DeviceTimingMode:x4 LocationInformationLen:u4 LocationInformation:w"},
	{CONFIG, 2, "25 Platform", "SystemManufacturer:w SystemProductName:w BiosDate:w BiosVersion:w"},

	{SPLIT, 0, "32 VolMgr", "ParentIrp:p ChildIrp:p"},

	{ALPC, 0, "33 SendMessage,34 ReceiveMessage,35 WaitForReply", "MessageID:u4"},
	{ALPC, 0, "36 WaitForNewMessage", "IsServerPort:u4 PortName:a"},
	{ALPC, 0, "37 Unwait", "Status:x4"},

	{POOL, 0, "32 Allocate,33 SessionAllocate,34 Free,35 SessionFree,36 Reuse",
	 "Type:x4 Tag:x4 NumberOfBytes:z Entry:p"},

	{THREAD_POOL, 0, "32 CBEnqueue,34 CBStart",
	 "PoolId:p TaskId:p CallbackFunction:p CallbackContext:p SubProcessTag:p"},
	{THREAD_POOL, 0, "33 CBDequeue,35 CBStop", "TaskId:p"},
	{THREAD_POOL, 0, "36 CBCancel", "TaskId:p CancelCount:u4"},
	{THREAD_POOL, 0, "37 PoolCreate,38 PoolClose", "PoolId:p"},
	{THREAD_POOL, 0, "39 ThreadMinSet,40 ThreadMaxSet", "PoolId:p ThreadNum:u4"},

	{HEAP, 0, "32 Create", "HeapHandle:p HeapFlags:x4"},
	{HEAP, 0, "33 Alloc", "HeapHandle:p AllocSize:z AllocAddress:p SourceId:u4"},
	{HEAP, 0, "34 ReAlloc",
	 "HeapHandle:p NewAllocAddress:p OldAllocAddress:p NewAllocSize:z OldAllocSize:z SourceId:u4"},
	{HEAP, 0, "35 Destroy,43 Lock,44 Unlock,45 Validate,46 Walk", "HeapHandle:p"},
	{HEAP, 0, "36 Free", "HeapHandle:p FreeAddress:p SourceId:u4"},
	{HEAP, 0, "37 Expand",
	 "HeapHandle:p CommittedSize:z CommitAddress:p FreeSpace:z CommittedSpace:z ReservedSpace:z NoOfUCRs:u4"},
	{HEAP, 0, "38 SnapShot", "HeapHandle:p FreeSpace:z CommittedSpace:z ReservedSpace:z HeapFlags:x4"},
	{HEAP, 0, "42 Contract",
	 "HeapHandle:p DeCommittedSize:z DeCommitAddress:p FreeSpace:z CommittedSpace:z ReservedSpace:z NoOfUCRs:u4"},

	{CRITICAL, 0, "34 Collision", "LockCount:u4 SpinCount:u4 OwningThread:p CritSecAddr:p"},
	{CRITICAL, 0, "35 Initialize", "SpinCount:p CritSecAddr:p"},

	{LOST, 0, "32 RTLostEvent,33 RTLostBuffer,34 RTLostFile", ""},

	{SYSTEM, 0, "32 BuildInfo", "InstallDate:f BuildLab:w ProductName:w"},
	{SYSTEM, 0, "33 SystemPaths", "SystemDirectory:w SystemWindowsDirectory:w"},
	{SYSTEM, 0, "34 UnknownVolume", "Value:w"},
	{SYSTEM, 0, "35 VolumeMapping", "NtPath:w DosPath:w"},

	{IMAGE_ID, 0, "0 Info", "ImageBase:p ImageSize:z ProcessId:u4 TimeDateStamp:u4 OriginalFileName:w"},
	{IMAGE_ID, 0, "32 None", "ImageBase:p ProcessId:u4"},
	{IMAGE_ID, 0, "36 DbgID_RSDS,37 DbgID_ILRSDS", "ImageBase:p ProcessId:u4 GuidSig:g Age:u4 PdbFileName:a"},
	{IMAGE_ID, 0, "38 DbgPPDB", "ImageBase:p ProcessId:u4 TimeDateStamp:x4 MajorVersion:u2 MinorVersion:u2"},
	{IMAGE_ID, 0, "40 DbgDeterm", "ImageBase:p ProcessId:u4"},
	{IMAGE_ID, 0, "64 FileVersion",
	 "ImageSize:u4 TimeDateStamp:u4 OrigFileName:w FileDescription:w FileVersion:w BinFileVersion:w VerLanguage:w "
	 "ProductName:w CompanyName:w ProductVersion:w FileId:w ProgramId:w"},

	{METADATA, 0, "32 EventInfo,33 EventMapInfo", "Data:*"},
};
const size_t etl_kernel_row_count = sizeof(etl_kernel_rows) / sizeof(etl_kernel_rows[0]);
