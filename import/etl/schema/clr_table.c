/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of events of .NET's common language runtime, in all versions. */
#include "import/etl/schema/clr_table.h"

enum { RUNTIME, RUNDOWN, PRIVATE };

const struct etl_clr_provider etl_clr_providers[] = {
	[RUNTIME] = {PTL_GUID(0xe13c0d23, 0xccbc, 0x4e12, 0x931b, 0xd9cc2eee27e4), "Microsoft-Windows-DotNETRuntime"},
	[RUNDOWN] = {PTL_GUID(0xa669021c, 0xc450, 0x4609, 0xa035, 0x5af59af4df18),
		     "Microsoft-Windows-DotNETRuntimeRundown"},
	[PRIVATE] = {PTL_GUID(0x763fd754, 0x7086, 0x4dfe, 0x95eb, 0xc01a46faf4ca),
		     "Microsoft-Windows-DotNETRuntimePrivate"},
};
const size_t etl_clr_provider_count = sizeof(etl_clr_providers) / sizeof(etl_clr_providers[0]);

#define INSTANCE "ClrInstanceID:u2"
#define HEAP_STATS                                                                                                     \
	"GenerationSize0:u8 TotalPromotedSize0:u8 GenerationSize1:u8 TotalPromotedSize1:u8 GenerationSize2:u8 "        \
	"TotalPromotedSize2:u8 GenerationSize3:u8 TotalPromotedSize3:u8 FinalizationPromotedSize:u8 "                  \
	"FinalizationPromotedCount:u8 PinnedObjectCount:u4 SinkBlockCount:u4 GCHandleCount:u4 "
#define TICK "AllocationAmount:u4 AllocationKind:u4 "
#define TICK_2 TICK INSTANCE " AllocationAmount64:u8 TypeID:p TypeName:w HeapIndex:u4 "
#define MARK "HeapNum:u4 " INSTANCE
#define PER_HEAP                                                                                                       \
	INSTANCE " FreeListAllocated:p FreeListRejected:p EndOfSegAllocated:p CondemnedAllocated:p PinnedAllocated:p " \
		 "PinnedAllocatedAdvance:p RunningFreeListEfficiency:u4 CondemnReasons0:u4 CondemnReasons1:u4 "        \
		 "CompactMechanisms:u4 ExpandMechanisms:u4 HeapIndex:u4 ExtraGen0Commit:p Count:u4 "                   \
		 "Values:[Count SizeBefore:p FreeListBefore:p FreeObjBefore:p SizeAfter:p FreeListAfter:p "            \
		 "FreeObjAfter:p In:p PinnedSurv:p NonePinnedSurv:p NewAllocation:p ]"
#define GLOBAL_HEAP                                                                                                    \
	"FinalYoungestDesired:u8 NumHeaps:i4 CondemnedGeneration:u4 Gen0ReductionCount:u4 Reason:u4 "                  \
	"GlobalMechanisms:x4 "
#define GLOBAL_HEAP_2 GLOBAL_HEAP INSTANCE " PauseMode:u4 MemoryPressure:u4 "
#define GLOBAL_HEAP_3 GLOBAL_HEAP_2 "CondemnReasons0:u4 CondemnReasons1:u4 "
#define BULK "Index:u4 Count:u4 " INSTANCE " Values:[Count "
#define SAMPLED "Address:p TypeID:p ObjectCountForTypeSample:u4 TotalSizeForTypeSample:u8 " INSTANCE
#define SET_HANDLE "HandleID:p ObjectID:p Kind:u4 Generation:u4 AppDomainID:x8 " INSTANCE
#define WORKER_THREAD "WorkerThreadCount:u4 RetiredWorkerThreads:u4"
#define IO_THREAD "IOThreadCount:u4 RetiredIOThreads:u4 "
#define SUSPENSION "ClrThreadID:u4 CpuUtilization:u4"
#define POOL_THREAD "ActiveWorkerThreadCount:u4 RetiredWorkerThreadCount:u4 " INSTANCE
#define POOL_WORK "WorkID:p " INSTANCE
#define POOL_IO "NativeOverlapped:p Overlapped:p " INSTANCE
#define HANDLING "EntryEIP:x8 MethodID:x8 MethodName:w " INSTANCE
#define CONTENTION "ContentionFlags:u1 " INSTANCE
#define STACK INSTANCE " Reserved1:u1 Reserved2:u1 FrameCount:u4 Stack:p[FrameCount"
#define THREAD "ManagedThreadID:x8 AppDomainID:x8 "
#define THREAD_CREATED THREAD "Flags:x4 ManagedThreadIndex:u4 OSThreadID:u4 " INSTANCE
#define METHOD "MethodID:x8 ModuleID:x8 MethodStartAddress:x8 MethodSize:u4 MethodToken:x4 MethodFlags:x4 "
#define METHOD_NAMES "MethodNamespace:w MethodName:w MethodSignature:w "
#define METHOD_VERBOSE METHOD METHOD_NAMES
#define JITTING "MethodID:x8 ModuleID:x8 MethodToken:x4 MethodILSize:u4 " METHOD_NAMES
#define COMPILED "MethodBeingCompiledNamespace:w MethodBeingCompiledName:w MethodBeingCompiledNameSignature:w "
#define INLINING                                                                                                       \
	COMPILED "InlinerNamespace:w InlinerName:w InlinerNameSignature:w InlineeNamespace:w InlineeName:w "           \
		 "InlineeNameSignature:w "
#define TAIL_CALL                                                                                                      \
	COMPILED "CallerNamespace:w CallerName:w CallerNameSignature:w CalleeNamespace:w CalleeName:w "                \
		 "CalleeNameSignature:w TailPrefix:l "
#define IL_MAP                                                                                                         \
	"MethodID:x8 ReJITID:x8 MethodExtent:u1 CountOfMapEntries:u2 ILOffsets:u4[CountOfMapEntries "                  \
	"NativeOffsets:u4[CountOfMapEntries " INSTANCE
#define MODULE_PATHS "ModuleFlags:x4 Reserved1:u4 ModuleILPath:w ModuleNativePath:w "
#define MODULE "ModuleID:x8 AssemblyID:x8 " MODULE_PATHS
#define MODULE_2                                                                                                       \
	MODULE INSTANCE " ManagedPdbSignature:g ManagedPdbAge:u4 ManagedPdbBuildPath:w NativePdbSignature:g "          \
			"NativePdbAge:u4 NativePdbBuildPath:w"
#define DOMAIN_MODULE "ModuleID:x8 AssemblyID:x8 AppDomainID:x8 " MODULE_PATHS
#define ASSEMBLY "AssemblyID:x8 AppDomainID:x8 AssemblyFlags:x4 FullyQualifiedAssemblyName:w"
#define ASSEMBLY_1 "AssemblyID:x8 AppDomainID:x8 BindingID:x8 AssemblyFlags:x4 FullyQualifiedAssemblyName:w " INSTANCE
#define DOMAIN "AppDomainID:x8 AppDomainFlags:x4 AppDomainName:w "
#define DOMAIN_1 DOMAIN "AppDomainIndex:u4 " INSTANCE
#define RANGE INSTANCE " ModuleID:x8 RangeBegin:x4 RangeSize:x4 RangeType:u1"
#define STRONG_NAME "VerificationFlags:x4 ErrorCode:x4 FullyQualifiedAssemblyName:w "
#define AUTHENTICODE "VerificationFlags:x4 ErrorCode:x4 ModulePath:w "
#define RUNTIME_INFORMATION                                                                                            \
	INSTANCE " Sku:u2 BclMajorVersion:u2 BclMinorVersion:u2 BclBuildNumber:u2 BclQfeNumber:u2 VMMajorVersion:u2 "  \
		 "VMMinorVersion:u2 VMBuildNumber:u2 VMQfeNumber:u2 StartupFlags:x4 StartupMode:u1 CommandLine:w "     \
		 "ComObjectGuid:g RuntimeDllPath:w"
#define LOAD                                                                                                           \
	INSTANCE " AssemblyName:w AssemblyPath:w RequestingAssembly:w AssemblyLoadContext:w "                          \
		 "RequestingAssemblyLoadContext:w "
#define RESULT "ResultAssemblyName:w ResultAssemblyPath:w "
#define BINDING                                                                                                        \
	"AppDomainID:u4 LoadContextID:u4 FromLoaderCache:u4 DynamicLoad:u4 AssemblyCodebase:w "                        \
	"AssemblyName:w " INSTANCE
#define OVERFLOW "Min:u8 Max:u8 Objects:u8 IsLarge:u4 " INSTANCE
#define REFERENCES "HandleID:p ObjectID:p COMInterfacePointer:p NewRefCount:u4 AppDomainID:x8 "

const struct etl_clr_row etl_clr_rows[] = {
	{RUNTIME, 0, 1, "GC/Start", "Count:u4 Reason:u4"},
	{RUNTIME, 1, 1, "GC/Start", "Count:u4 Depth:u4 Reason:u4 Type:u4 " INSTANCE},
	{RUNTIME, 2, 1, "GC/Start", "Count:u4 Depth:u4 Reason:u4 Type:u4 " INSTANCE " ClientSequenceNumber:u8"},
	{RUNTIME, 0, 2, "GC/Stop", "Count:u4 Depth:u2"},
	{RUNTIME, 1, 2, "GC/Stop", "Count:u4 Depth:u4 " INSTANCE},
	{RUNTIME, 0, 3, "GC/RestartEEStop", ""},
	{RUNTIME, 1, 3, "GC/RestartEEStop", INSTANCE},
	{RUNTIME, 0, 4, "GC/HeapStats", HEAP_STATS},
	{RUNTIME, 1, 4, "GC/HeapStats", HEAP_STATS INSTANCE},
	{RUNTIME, 2, 4, "GC/HeapStats", HEAP_STATS INSTANCE " GenerationSize4:u8 TotalPromotedSize4:u8"},
	{RUNTIME, 0, 5, "GC/CreateSegment", "Address:x8 Size:x8 Type:u4"},
	{RUNTIME, 1, 5, "GC/CreateSegment", "Address:x8 Size:x8 Type:u4 " INSTANCE},
	{RUNTIME, 0, 6, "GC/FreeSegment", "Address:x8"},
	{RUNTIME, 1, 6, "GC/FreeSegment", "Address:x8 " INSTANCE},
	{RUNTIME, 0, 7, "GC/RestartEEStart", ""},
	{RUNTIME, 1, 7, "GC/RestartEEStart", INSTANCE},
	{RUNTIME, 0, 8, "GC/SuspendEEStop", ""},
	{RUNTIME, 1, 8, "GC/SuspendEEStop", INSTANCE},
	{RUNTIME, 0, 9, "GC/SuspendEEStart", "Reason:u2"},
	{RUNTIME, 1, 9, "GC/SuspendEEStart", "Reason:u4 Count:u4 " INSTANCE},
	{RUNTIME, 0, 10, "GC/AllocationTick", TICK},
	{RUNTIME, 1, 10, "GC/AllocationTick", TICK INSTANCE},
	{RUNTIME, 2, 10, "GC/AllocationTick", TICK_2},
	{RUNTIME, 3, 10, "GC/AllocationTick", TICK_2 "Address:p"},
	{RUNTIME, 4, 10, "GC/AllocationTick", TICK_2 "Address:p ObjectSize:u8"},
	{RUNTIME, 0, 11, "GC/CreateConcurrentThread", ""},
	{RUNTIME, 1, 11, "GC/CreateConcurrentThread", INSTANCE},
	{RUNTIME, 0, 12, "GC/TerminateConcurrentThread", ""},
	{RUNTIME, 1, 12, "GC/TerminateConcurrentThread", INSTANCE},
	{RUNTIME, 0, 13, "GC/FinalizersStop", "Count:u4"},
	{RUNTIME, 1, 13, "GC/FinalizersStop", "Count:u4 " INSTANCE},
	{RUNTIME, 0, 14, "GC/FinalizersStart", ""},
	{RUNTIME, 1, 14, "GC/FinalizersStart", INSTANCE},
	{RUNTIME, 0, 15, "Type/BulkType",
	 "Count:u4 " INSTANCE " Values:[Count TypeID:x8 ModuleID:x8 TypeNameID:u4 Flags:x4 CorElementType:u1 Name:w "
	 "TypeParameterCount:u4 TypeParameters:x8[TypeParameterCount ]"},
	{RUNTIME, 0, 16, "GC/BulkRootEdge", BULK "RootedNodeAddress:p GCRootKind:u1 GCRootFlag:x4 GCRootID:p ]"},
	{RUNTIME, 0, 17, "GC/BulkRootConditionalWeakTableElementEdge",
	 BULK "GCKeyNodeID:p GCValueNodeID:p GCRootID:p ]"},
	{RUNTIME, 0, 18, "GC/BulkNode", BULK "Address:p Size:u8 TypeID:x8 EdgeCount:u8 ]"},
	{RUNTIME, 0, 19, "GC/BulkEdge", BULK "Value:p ReferencingFieldID:u4 ]"},
	{RUNTIME, 0, 20, "GC/SampledObjectAllocation", SAMPLED},
	{RUNTIME, 0, 21, "GC/BulkSurvivingObjectRanges", BULK "RangeBase:p RangeLength:u8 ]"},
	{RUNTIME, 0, 22, "GC/BulkMovedObjectRanges", BULK "OldRangeBase:p NewRangeBase:p RangeLength:u8 ]"},
	{RUNTIME, 0, 23, "GC/GenerationRange",
	 "Generation:u1 RangeStart:p RangeUsedLength:u8 RangeReservedLength:u8 " INSTANCE},
	{RUNTIME, 0, 25, "GC/MarkStackRoots", MARK},
	{RUNTIME, 0, 26, "GC/MarkFinalizeQueueRoots", MARK},
	{RUNTIME, 0, 27, "GC/MarkHandles", MARK},
	{RUNTIME, 0, 28, "GC/MarkCards", MARK},
	{RUNTIME, 0, 29, "GC/FinalizeObject", "TypeID:p ObjectID:p " INSTANCE},
	{RUNTIME, 0, 30, "GC/SetGCHandle", SET_HANDLE},
	{RUNTIME, 0, 31, "GC/DestroyGCHandle", "HandleID:p " INSTANCE},
	{RUNTIME, 0, 32, "GC/SampledObjectAllocation", SAMPLED},
	{RUNTIME, 0, 33, "GC/PinObjectAtGCTime", "HandleID:p ObjectID:p ObjectSize:u8 TypeName:w " INSTANCE},
	{RUNTIME, 0, 35, "GC/Triggered", "Reason:u4 " INSTANCE},
	{RUNTIME, 0, 36, "GC/BulkRootCCW",
	 "Count:u4 " INSTANCE " Values:[Count GCRootID:x8 ObjectID:x8 TypeID:x8 IUnknown:x8 RefCount:u4 "
	 "PeggedRefCount:u4 Flags:x4 ]"},
	{RUNTIME, 0, 37, "GC/BulkRCW",
	 "Count:u4 " INSTANCE " Values:[Count ObjectID:x8 TypeID:x8 IUnknown:x8 VTable:x8 RefCount:u4 Flags:x4 ]"},
	{RUNTIME, 0, 38, "GC/BulkRootStaticVar",
	 "Count:u4 AppDomainID:x8 " INSTANCE " Values:[Count GCRootID:x8 ObjectID:x8 TypeID:x8 Flags:x4 FieldName:w ]"},
	{RUNTIME, 0, 39, "GC/DynamicEvent", "Name:w DataSize:u4 Data:b[DataSize " INSTANCE},
	{RUNTIME, 0, 40, "WorkerThreadCreation/Start", WORKER_THREAD},
	{RUNTIME, 0, 41, "WorkerThreadCreation/Stop", WORKER_THREAD},
	{RUNTIME, 0, 42, "WorkerThreadRetirement/Start", WORKER_THREAD},
	{RUNTIME, 0, 43, "WorkerThreadRetirement/Stop", WORKER_THREAD},
	{RUNTIME, 0, 44, "IOThreadCreation/Start", IO_THREAD},
	{RUNTIME, 1, 44, "IOThreadCreation/Start", IO_THREAD INSTANCE},
	{RUNTIME, 0, 45, "IOThreadCreation/Stop", IO_THREAD},
	{RUNTIME, 1, 45, "IOThreadCreation/Stop", IO_THREAD INSTANCE},
	{RUNTIME, 0, 46, "IOThreadRetirement/Start", IO_THREAD},
	{RUNTIME, 1, 46, "IOThreadRetirement/Start", IO_THREAD INSTANCE},
	{RUNTIME, 0, 47, "IOThreadRetirement/Stop", IO_THREAD},
	{RUNTIME, 1, 47, "IOThreadRetirement/Stop", IO_THREAD INSTANCE},
	{RUNTIME, 0, 48, "ThreadpoolSuspension/Start", SUSPENSION},
	{RUNTIME, 0, 49, "ThreadpoolSuspension/Stop", SUSPENSION},
	{RUNTIME, 0, 50, "ThreadPoolWorkerThread/Start", POOL_THREAD},
	{RUNTIME, 0, 51, "ThreadPoolWorkerThread/Stop", POOL_THREAD},
	{RUNTIME, 0, 52, "ThreadPoolWorkerThreadRetirement/Start", POOL_THREAD},
	{RUNTIME, 0, 53, "ThreadPoolWorkerThreadRetirement/Stop", POOL_THREAD},
	{RUNTIME, 0, 54, "ThreadPoolWorkerThreadAdjustment/Sample", "Throughput:d " INSTANCE},
	{RUNTIME, 0, 55, "ThreadPoolWorkerThreadAdjustment/Adjustment",
	 "AverageThroughput:d NewWorkerThreadCount:u4 Reason:u4 " INSTANCE},
	{RUNTIME, 0, 56, "ThreadPoolWorkerThreadAdjustment/Stats",
	 "Duration:d Throughput:d ThreadWave:d ThroughputWave:d ThroughputErrorEstimate:d "
	 "AverageThroughputErrorEstimate:d ThroughputRatio:d Confidence:d NewControlSetting:d "
	 "NewThreadWaveMagnitude:u2 " INSTANCE},
	{RUNTIME, 0, 57, "ThreadPoolWorkerThread/Wait", POOL_THREAD},
	{RUNTIME, 0, 58, "InitializeYieldProcessorNormalized/Info",
	 "YieldsPerNormalizedYield:u4 OptimalMaxNormalizedYieldsPerSpinIteration:u4 " INSTANCE},
	{RUNTIME, 0, 60, "ThreadPoolWorkingThreadCount/Start", "Count:u4 " INSTANCE},
	{RUNTIME, 0, 61, "ThreadPool/Enqueue", POOL_WORK},
	{RUNTIME, 0, 62, "ThreadPool/Dequeue", POOL_WORK},
	{RUNTIME, 0, 63, "ThreadPool/IOEnqueue", "NativeOverlapped:p Overlapped:p MultiDequeues:l " INSTANCE},
	{RUNTIME, 0, 64, "ThreadPool/IODequeue", POOL_IO},
	{RUNTIME, 0, 65, "ThreadPool/IOPack", POOL_IO},
	{RUNTIME, 0, 70, "Thread/Creating", "ID:p " INSTANCE},
	{RUNTIME, 0, 71, "Thread/Running", "ID:p " INSTANCE},
	{RUNTIME, 0, 72, "Method/MethodDetails",
	 "MethodID:x8 TypeID:x8 MethodToken:x4 TypeParameterCount:u4 LoaderModuleID:x8 "
	 "TypeParameters:x8[TypeParameterCount"},
	{RUNTIME, 0, 73, "TypeLoad/Start", "TypeLoadStartID:u4 " INSTANCE},
	{RUNTIME, 0, 74, "TypeLoad/Stop", "TypeLoadStartID:u4 " INSTANCE " LoadLevel:u2 TypeID:x8 TypeName:w"},
	{RUNTIME, 0, 80, "Exception/Start", ""},
	{RUNTIME, 1, 80, "Exception/Start",
	 "ExceptionType:w ExceptionMessage:w ExceptionEIP:p ExceptionHRESULT:x4 ExceptionFlags:x2 " INSTANCE},
	{RUNTIME, 0, 81, "Contention/Start", ""},
	{RUNTIME, 1, 81, "Contention/Start", CONTENTION},
	{RUNTIME, 0, 82, "ClrStack/Walk", STACK},
	{RUNTIME, 0, 83, "AppDomainResourceManagement/MemAllocated", "AppDomainID:x8 Allocated:u8 " INSTANCE},
	{RUNTIME, 0, 84, "AppDomainResourceManagement/MemSurvived",
	 "AppDomainID:x8 Survived:u8 ProcessSurvived:u8 " INSTANCE},
	{RUNTIME, 0, 85, "AppDomainResourceManagement/ThreadCreated", THREAD_CREATED},
	{RUNTIME, 0, 86, "AppDomainResourceManagement/ThreadTerminated", THREAD INSTANCE},
	{RUNTIME, 0, 87, "AppDomainResourceManagement/DomainEnter", THREAD INSTANCE},
	{RUNTIME, 0, 88, "ILStub/StubGenerated",
	 INSTANCE
	 " ModuleID:x8 StubMethodID:x8 StubFlags:x4 ManagedInteropMethodToken:x4 ManagedInteropMethodNamespace:w "
	 "ManagedInteropMethodName:w ManagedInteropMethodSignature:w NativeMethodSignature:w "
	 "StubMethodSignature:w StubMethodILCode:w"},
	{RUNTIME, 0, 89, "ILStub/StubCacheHit",
	 INSTANCE " ModuleID:x8 StubMethodID:x8 ManagedInteropMethodToken:x4 ManagedInteropMethodNamespace:w "
		  "ManagedInteropMethodName:w ManagedInteropMethodSignature:w"},
	{RUNTIME, 0, 91, "Contention/Stop", CONTENTION},
	{RUNTIME, 1, 91, "Contention/Stop", CONTENTION " DurationNs:d"},
	{RUNTIME, 0, 135, "Method/DCStartCompleteV2", ""},
	{RUNTIME, 0, 136, "Method/DCStopCompleteV2", ""},
	{RUNTIME, 0, 137, "Method/DCStartV2", METHOD},
	{RUNTIME, 0, 138, "Method/DCStopV2", METHOD},
	{RUNTIME, 0, 139, "Method/DCStartVerboseV2", METHOD_VERBOSE},
	{RUNTIME, 0, 140, "Method/DCStopVerboseV2", METHOD_VERBOSE},
	{RUNTIME, 0, 141, "Method/Load", METHOD},
	{RUNTIME, 1, 141, "Method/Load", METHOD INSTANCE},
	{RUNTIME, 2, 141, "Method/Load", METHOD INSTANCE " ReJITID:x8"},
	{RUNTIME, 0, 142, "Method/Unload", METHOD},
	{RUNTIME, 1, 142, "Method/Unload", METHOD INSTANCE},
	{RUNTIME, 2, 142, "Method/Unload", METHOD INSTANCE " ReJITID:x8"},
	{RUNTIME, 0, 143, "Method/LoadVerbose", METHOD_VERBOSE},
	{RUNTIME, 1, 143, "Method/LoadVerbose", METHOD_VERBOSE INSTANCE},
	{RUNTIME, 2, 143, "Method/LoadVerbose", METHOD_VERBOSE INSTANCE " ReJITID:x8"},
	{RUNTIME, 0, 144, "Method/UnloadVerbose", METHOD_VERBOSE},
	{RUNTIME, 1, 144, "Method/UnloadVerbose", METHOD_VERBOSE INSTANCE},
	{RUNTIME, 2, 144, "Method/UnloadVerbose", METHOD_VERBOSE INSTANCE " ReJITID:x8"},
	{RUNTIME, 0, 145, "Method/JittingStarted", JITTING},
	{RUNTIME, 1, 145, "Method/JittingStarted", JITTING INSTANCE},
	{RUNTIME, 0, 146, "Method/MemoryAllocatedForJitCode",
	 "MethodID:x8 ModuleID:x8 JitHotCodeRequestSize:u8 JitRODataRequestSize:u8 AllocatedSizeForJitCode:u8 "
	 "JitAllocFlag:x4 " INSTANCE},
	{RUNTIME, 0, 149, "Loader/ModuleDCStartV2", MODULE},
	{RUNTIME, 0, 150, "Loader/ModuleDCStopV2", MODULE},
	{RUNTIME, 0, 151, "Loader/DomainModuleLoad", DOMAIN_MODULE},
	{RUNTIME, 1, 151, "Loader/DomainModuleLoad", DOMAIN_MODULE INSTANCE},
	{RUNTIME, 0, 152, "Loader/ModuleLoad", MODULE},
	{RUNTIME, 1, 152, "Loader/ModuleLoad", MODULE INSTANCE},
	{RUNTIME, 2, 152, "Loader/ModuleLoad", MODULE_2},
	{RUNTIME, 0, 153, "Loader/ModuleUnload", MODULE},
	{RUNTIME, 1, 153, "Loader/ModuleUnload", MODULE INSTANCE},
	{RUNTIME, 2, 153, "Loader/ModuleUnload", MODULE_2},
	{RUNTIME, 0, 154, "Loader/AssemblyLoad", ASSEMBLY},
	{RUNTIME, 1, 154, "Loader/AssemblyLoad", ASSEMBLY_1},
	{RUNTIME, 0, 155, "Loader/AssemblyUnload", ASSEMBLY},
	{RUNTIME, 1, 155, "Loader/AssemblyUnload", ASSEMBLY_1},
	{RUNTIME, 0, 156, "Loader/AppDomainLoad", DOMAIN},
	{RUNTIME, 1, 156, "Loader/AppDomainLoad", DOMAIN_1},
	{RUNTIME, 0, 157, "Loader/AppDomainUnload", DOMAIN},
	{RUNTIME, 1, 157, "Loader/AppDomainUnload", DOMAIN_1},
	{RUNTIME, 0, 158, "PerfTrack/ModuleRangeLoad", RANGE},
	{RUNTIME, 0, 159, "Method/R2RGetEntryPoint", "MethodID:x8 " METHOD_NAMES "EntryPoint:x8 " INSTANCE},
	{RUNTIME, 0, 160, "Method/R2RGetEntryPointStart", "MethodID:x8 " INSTANCE},
	{RUNTIME, 0, 181, "StrongNameVerification/Start", STRONG_NAME},
	{RUNTIME, 1, 181, "StrongNameVerification/Start", STRONG_NAME INSTANCE},
	{RUNTIME, 0, 182, "StrongNameVerification/Stop", STRONG_NAME},
	{RUNTIME, 1, 182, "StrongNameVerification/Stop", STRONG_NAME INSTANCE},
	{RUNTIME, 0, 183, "AuthenticodeVerification/Start", AUTHENTICODE},
	{RUNTIME, 1, 183, "AuthenticodeVerification/Start", AUTHENTICODE INSTANCE},
	{RUNTIME, 0, 184, "AuthenticodeVerification/Stop", AUTHENTICODE},
	{RUNTIME, 1, 184, "AuthenticodeVerification/Stop", AUTHENTICODE INSTANCE},
	{RUNTIME, 0, 185, "Method/InliningSucceeded", INLINING INSTANCE},
	{RUNTIME, 0, 186, "Method/InliningFailed", INLINING "FailAlways:l FailReason:a " INSTANCE},
	{RUNTIME, 0, 187, "Runtime/Start", RUNTIME_INFORMATION},
	{RUNTIME, 0, 188, "Method/TailCallSucceeded", TAIL_CALL "TailCallType:u4 " INSTANCE},
	{RUNTIME, 0, 189, "Method/TailCallFailed", TAIL_CALL "FailReason:a " INSTANCE},
	{RUNTIME, 0, 190, "Method/ILToNativeMap", IL_MAP},
	{RUNTIME, 0, 191, "Method/TailCallFailed", TAIL_CALL "FailReason:w " INSTANCE},
	{RUNTIME, 0, 192, "Method/InliningFailed", INLINING "FailAlways:l FailReason:w " INSTANCE},
	{RUNTIME, 0, 200, "GarbageCollection/IncreaseMemoryPressure", "BytesAllocated:u8 " INSTANCE},
	{RUNTIME, 0, 201, "GarbageCollection/DecreaseMemoryPressure", "BytesFreed:u8 " INSTANCE},
	{RUNTIME, 0, 202, "GC/MarkWithType", "HeapNum:u4 " INSTANCE " Type:u4 Bytes:u8"},
	{RUNTIME, 2, 203, "GC/Join", "Heap:u4 JoinTime:u4 JoinType:u4 " INSTANCE " JoinID:u4"},
	{RUNTIME, 3, 204, "GC/PerHeapHistory", PER_HEAP},
	{RUNTIME, 2, 205, "GC/GlobalHeapHistory", GLOBAL_HEAP_2},
	{RUNTIME, 3, 205, "GC/GlobalHeapHistory", GLOBAL_HEAP_3},
	{RUNTIME, 4, 205, "GC/GlobalHeapHistory", GLOBAL_HEAP_3 "Count:u4 Times:u4[Count"},
	{RUNTIME, 0, 206, "GC/GenAwareStart", "Count:u4 " INSTANCE},
	{RUNTIME, 0, 207, "GC/GenAwareEnd", "Count:u4 " INSTANCE},
	{RUNTIME, 0, 208, "GC/LOHCompact", INSTANCE " Count:u2 *"},
	/* A memory structure: two bytes align the following members. */
	{RUNTIME, 0, 209, "GC/FitBucketInfo",
	 INSTANCE " BucketKind:u2 TotalSize:u8 Count:u2 Values:[Count Index:u2 Alignment:u2 Count:u4 Size:p ]"},
	{RUNTIME, 0, 250, "ExceptionCatch/Start", HANDLING},
	{RUNTIME, 0, 251, "ExceptionCatch/Stop", ""},
	{RUNTIME, 0, 252, "ExceptionFinally/Start", HANDLING},
	{RUNTIME, 0, 253, "ExceptionFinally/Stop", ""},
	{RUNTIME, 0, 254, "ExceptionFilter/Start", HANDLING},
	{RUNTIME, 0, 255, "ExceptionFilter/Stop", ""},
	{RUNTIME, 0, 256, "Exception/Stop", ""},
	{RUNTIME, 0, 280, "TieredCompilation/Settings", INSTANCE " Flags:x4"},
	{RUNTIME, 0, 281, "TieredCompilation/Pause", INSTANCE},
	{RUNTIME, 0, 282, "TieredCompilation/Resume", INSTANCE " NewMethodCount:u4"},
	{RUNTIME, 0, 283, "TieredCompilation/BackgroundJitStart", INSTANCE " PendingMethodCount:u4"},
	{RUNTIME, 0, 284, "TieredCompilation/BackgroundJitStop",
	 INSTANCE " PendingMethodCount:u4 JittedMethodCount:u4"},
	{RUNTIME, 0, 290, "AssemblyLoader/Start", LOAD},
	{RUNTIME, 0, 291, "AssemblyLoader/Stop", LOAD "Success:l " RESULT "Cached:l"},
	{RUNTIME, 0, 292, "AssemblyLoader/ResolutionAttempted",
	 INSTANCE " AssemblyName:w Stage:u2 AssemblyLoadContext:w Result:u2 " RESULT "ErrorMessage:w"},
	{RUNTIME, 0, 293, "AssemblyLoader/AssemblyLoadContextResolvingHandlerInvoked",
	 INSTANCE " AssemblyName:w HandlerName:w AssemblyLoadContext:w " RESULT},
	{RUNTIME, 0, 294, "AssemblyLoader/AppDomainAssemblyResolveHandlerInvoked",
	 INSTANCE " AssemblyName:w HandlerName:w " RESULT},
	{RUNTIME, 0, 295, "AssemblyLoader/AssemblyLoadFromResolveHandlerInvoked",
	 INSTANCE " AssemblyName:w IsTrackedLoad:l RequestingAssemblyPath:w ComputedRequestedAssemblyPath:w"},
	{RUNTIME, 0, 296, "AssemblyLoader/KnownPathProbed", INSTANCE " FilePath:w Source:u2 Result:i4"},

	{RUNDOWN, 0, 0, "ClrStack/Walk", STACK},
	{RUNDOWN, 0, 141, "Method/DCStart", METHOD},
	{RUNDOWN, 1, 141, "Method/DCStart", METHOD INSTANCE},
	{RUNDOWN, 2, 141, "Method/DCStart", METHOD INSTANCE " ReJITID:x8"},
	{RUNDOWN, 0, 142, "Method/DCStop", METHOD},
	{RUNDOWN, 1, 142, "Method/DCStop", METHOD INSTANCE},
	{RUNDOWN, 2, 142, "Method/DCStop", METHOD INSTANCE " ReJITID:x8"},
	{RUNDOWN, 0, 143, "Method/DCStartVerbose", METHOD_VERBOSE},
	{RUNDOWN, 1, 143, "Method/DCStartVerbose", METHOD_VERBOSE INSTANCE},
	{RUNDOWN, 2, 143, "Method/DCStartVerbose", METHOD_VERBOSE INSTANCE " ReJITID:x8"},
	{RUNDOWN, 0, 144, "Method/DCStopVerbose", METHOD_VERBOSE},
	{RUNDOWN, 1, 144, "Method/DCStopVerbose", METHOD_VERBOSE INSTANCE},
	{RUNDOWN, 2, 144, "Method/DCStopVerbose", METHOD_VERBOSE INSTANCE " ReJITID:x8"},
	{RUNDOWN, 0, 145, "Method/DCStartComplete", ""},
	{RUNDOWN, 1, 145, "Method/DCStartComplete", INSTANCE},
	{RUNDOWN, 0, 146, "Method/DCStopComplete", ""},
	{RUNDOWN, 1, 146, "Method/DCStopComplete", INSTANCE},
	{RUNDOWN, 0, 147, "Method/DCStartInit", ""},
	{RUNDOWN, 1, 147, "Method/DCStartInit", INSTANCE},
	{RUNDOWN, 0, 148, "Method/DCStopInit", ""},
	{RUNDOWN, 1, 148, "Method/DCStopInit", INSTANCE},
	{RUNDOWN, 0, 149, "Method/ILToNativeMapDCStart", IL_MAP},
	{RUNDOWN, 0, 150, "Method/ILToNativeMapDCStop", IL_MAP},
	{RUNDOWN, 0, 151, "Loader/DomainModuleDCStart", DOMAIN_MODULE},
	{RUNDOWN, 1, 151, "Loader/DomainModuleDCStart", DOMAIN_MODULE INSTANCE},
	{RUNDOWN, 0, 152, "Loader/DomainModuleDCStop", DOMAIN_MODULE},
	{RUNDOWN, 1, 152, "Loader/DomainModuleDCStop", DOMAIN_MODULE INSTANCE},
	{RUNDOWN, 0, 153, "Loader/ModuleDCStart", MODULE},
	{RUNDOWN, 1, 153, "Loader/ModuleDCStart", MODULE INSTANCE},
	{RUNDOWN, 2, 153, "Loader/ModuleDCStart", MODULE_2},
	{RUNDOWN, 0, 154, "Loader/ModuleDCStop", MODULE},
	{RUNDOWN, 1, 154, "Loader/ModuleDCStop", MODULE INSTANCE},
	{RUNDOWN, 2, 154, "Loader/ModuleDCStop", MODULE_2},
	{RUNDOWN, 0, 155, "Loader/AssemblyDCStart", ASSEMBLY},
	{RUNDOWN, 1, 155, "Loader/AssemblyDCStart", ASSEMBLY_1},
	{RUNDOWN, 0, 156, "Loader/AssemblyDCStop", ASSEMBLY},
	{RUNDOWN, 1, 156, "Loader/AssemblyDCStop", ASSEMBLY_1},
	{RUNDOWN, 0, 157, "Loader/AppDomainDCStart", DOMAIN},
	{RUNDOWN, 1, 157, "Loader/AppDomainDCStart", DOMAIN_1},
	{RUNDOWN, 0, 158, "Loader/AppDomainDCStop", DOMAIN},
	{RUNDOWN, 1, 158, "Loader/AppDomainDCStop", DOMAIN_1},
	{RUNDOWN, 0, 159, "Loader/ThreadDCStop", THREAD_CREATED},
	{RUNDOWN, 0, 187, "Runtime/Start", RUNTIME_INFORMATION},

	{PRIVATE, 0, 1, "GC/Decision", "DoCompact:l"},
	{PRIVATE, 1, 1, "GC/Decision", "DoCompact:l " INSTANCE},
	{PRIVATE, 0, 2, "GC/Settings", "SegmentSize:u8 LargeObjectSegmentSize:u8 ServerGC:l"},
	{PRIVATE, 1, 2, "GC/Settings", "SegmentSize:u8 LargeObjectSegmentSize:u8 ServerGC:l " INSTANCE},
	{PRIVATE, 0, 3, "GC/Optimized", "DesiredAllocation:u8 NewAllocation:u8 GenerationNumber:u4"},
	{PRIVATE, 1, 3, "GC/Optimized", "DesiredAllocation:u8 NewAllocation:u8 GenerationNumber:u4 " INSTANCE},
	/* The runtime's manifest does not describe the contents. */
	{PRIVATE, 0, 4, "GC/PerHeapHistory", "*"},
	{PRIVATE, 0, 5, "GC/GlobalHeapHistory", GLOBAL_HEAP},
	{PRIVATE, 1, 5, "GC/GlobalHeapHistory", GLOBAL_HEAP INSTANCE},
	{PRIVATE, 0, 6, "GC/Join", "Heap:u4 JoinTime:u4 JoinType:u4"},
	{PRIVATE, 1, 6, "GC/Join", "Heap:u4 JoinTime:u4 JoinType:u4 " INSTANCE},
	{PRIVATE, 0, 7, "GC/MarkStackRoots", "HeapNum:u4"},
	{PRIVATE, 1, 7, "GC/MarkStackRoots", MARK},
	{PRIVATE, 0, 8, "GC/MarkFinalizeQueueRoots", "HeapNum:u4"},
	{PRIVATE, 1, 8, "GC/MarkFinalizeQueueRoots", MARK},
	{PRIVATE, 0, 9, "GC/MarkHandles", "HeapNum:u4"},
	{PRIVATE, 1, 9, "GC/MarkHandles", MARK},
	{PRIVATE, 0, 10, "GC/MarkCards", "HeapNum:u4"},
	{PRIVATE, 1, 10, "GC/MarkCards", MARK},
	{PRIVATE, 0, 11, "GC/BGCStart", INSTANCE},
	{PRIVATE, 0, 12, "GC/BGC1stNonCondStop", INSTANCE},
	{PRIVATE, 0, 13, "GC/BGC1stConStop", INSTANCE},
	{PRIVATE, 0, 14, "GC/BGC2ndNonConStart", INSTANCE},
	{PRIVATE, 0, 15, "GC/BGC2ndNonConStop", INSTANCE},
	{PRIVATE, 0, 16, "GC/BGC2ndConStart", INSTANCE},
	{PRIVATE, 0, 17, "GC/BGC2ndConStop", INSTANCE},
	{PRIVATE, 0, 18, "GC/BGCPlanStop", INSTANCE},
	{PRIVATE, 0, 19, "GC/BGCSweepStop", INSTANCE},
	{PRIVATE, 0, 20, "GC/BGCDrainMark", "Objects:u8 " INSTANCE},
	{PRIVATE, 0, 21, "GC/BGCRevisit", "Pages:u8 Objects:u8 IsLarge:u4 " INSTANCE},
	{PRIVATE, 0, 22, "GC/BGCOverflow", OVERFLOW},
	{PRIVATE, 1, 22, "GC/BGCOverflow", OVERFLOW " GenNumber:u4"},
	{PRIVATE, 0, 23, "GC/BGCAllocWaitStart", "Reason:u4 " INSTANCE},
	{PRIVATE, 0, 24, "GC/BGCAllocWaitStop", "Reason:u4 " INSTANCE},
	{PRIVATE, 0, 25, "GC/FullNotify", "GenNumber:u4 IsAlloc:u4"},
	{PRIVATE, 1, 25, "GC/FullNotify", "GenNumber:u4 IsAlloc:u4 " INSTANCE},
	{PRIVATE, 0, 26, "GC/BGC1stSweepEnd", "GenNumber:u4 " INSTANCE},
	{PRIVATE, 0, 151, "ClrStack/Walk", STACK},
	{PRIVATE, 0, 158, "PerfTrack/ModuleRangeLoad", RANGE " IBCType:u1 SectionType:u2"},
	{PRIVATE, 0, 159, "Binding/PolicyPhaseStart", BINDING},
	{PRIVATE, 0, 160, "Binding/PolicyPhaseStop", BINDING},
	{PRIVATE, 0, 161, "Binding/NgenPhaseStart", BINDING},
	{PRIVATE, 0, 162, "Binding/NgenPhaseStop", BINDING},
	{PRIVATE, 0, 163, "Binding/LookupAndProbingPhaseStart", BINDING},
	{PRIVATE, 0, 164, "Binding/LookupAndProbingPhaseStop", BINDING},
	{PRIVATE, 0, 165, "Binding/LoaderPhaseStart", BINDING},
	{PRIVATE, 0, 166, "Binding/LoaderPhaseStop", BINDING},
	{PRIVATE, 0, 167, "Binding/PhaseStart", BINDING},
	{PRIVATE, 0, 168, "Binding/PhaseStop", BINDING},
	{PRIVATE, 0, 169, "Binding/DownloadPhaseStart", BINDING},
	{PRIVATE, 0, 170, "Binding/DownloadPhaseStop", BINDING},
	{PRIVATE, 0, 171, "Binding/LoaderAssemblyInitPhaseStart", BINDING},
	{PRIVATE, 0, 172, "Binding/LoaderAssemblyInitPhaseStop", BINDING},
	{PRIVATE, 0, 173, "Binding/LoaderMappingPhaseStart", BINDING},
	{PRIVATE, 0, 174, "Binding/LoaderMappingPhaseStop", BINDING},
	{PRIVATE, 0, 175, "Binding/LoaderDeliverEventPhaseStart", BINDING},
	{PRIVATE, 0, 176, "Binding/LoaderDeliverEventsPhaseStop", BINDING},
	{PRIVATE, 0, 177, "EvidenceGeneration/EvidenceGenerated", "Type:u4 AppDomain:u4 ILImage:w " INSTANCE},
	{PRIVATE, 0, 188, "NgenBinder/NgenBind", INSTANCE " BindingID:u8 ReasonCode:u4 AssemblyName:w"},
	{PRIVATE, 0, 191, "FailFast/FailFast",
	 "FailFastUserMessage:w FailedEIP:p OSExitCode:u4 ClrExitCode:u4 " INSTANCE},
	{PRIVATE, 0, 192, "GC/FinalizeObject", "TypeID:p ObjectID:p " INSTANCE " TypeName:w"},
	{PRIVATE, 0, 193, "GC/CCWRefCountChange", REFERENCES "ClassName:a NameSpace:a Operation:w " INSTANCE},
	{PRIVATE, 0, 194, "GC/SetGCHandle", SET_HANDLE},
	{PRIVATE, 0, 195, "GC/DestroyGCHandle", "HandleID:p " INSTANCE},
	{PRIVATE, 0, 196, "Binding/FusionMessage", INSTANCE " Prepend:l Message:w"},
	{PRIVATE, 0, 197, "Binding/FusionErrorCode", INSTANCE " Category:u4 ErrorCode:x4"},
	{PRIVATE, 0, 199, "GC/PinPlugAtGCTime", "PlugStart:p PlugEnd:p GapBeforeSize:p " INSTANCE},
	{PRIVATE, 0, 200, "GC/CCWRefCountChange", REFERENCES "ClassName:w NameSpace:w Operation:w " INSTANCE},
	{PRIVATE, 0, 201, "MulticoreJit/Common", INSTANCE " String1:w String2:w Int1:i4 Int2:i4 Int3:i4"},
	{PRIVATE, 0, 202, "MulticoreJit/MethodCodeReturned", INSTANCE " ModuleID:x8 MethodID:x8"},
	{PRIVATE, 0, 310, "LoaderHeapAllocation/AllocRequest",
	 "LoaderHeapPtr:p MemoryAddress:p RequestSize:u4 Unused1:u4 Unused2:u8 " INSTANCE},
};
const size_t etl_clr_row_count = sizeof(etl_clr_rows) / sizeof(etl_clr_rows[0]);
