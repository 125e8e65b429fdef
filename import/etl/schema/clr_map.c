/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps of the .NET runtime, and the fields that use the maps. */
#include "import/etl/schema/clr_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/guid.h"
#include "import/etl/schema/clr_table.h"

#define ENTRIES_MAX 16u
#define NAME_MAX 48u

static const struct {
	const char *name;
	uint32_t kind;
	const char *entries; /* "0 Small,0x10 Large" */
} maps[] = {
	{"GCSegmentType", PTL_MAP_VALUES, "0 SmallObjectHeap,1 LargeObjectHeap,2 ReadOnlyHeap,3 PinnedObjectHeap"},
	{"GCAllocationKind", PTL_MAP_VALUES, "0 Small,1 Large,2 Pinned"},
	{"GCType", PTL_MAP_VALUES, "0 NonConcurrentGC,1 BackgroundGC,2 ForegroundGC"},
	{"GCReason", PTL_MAP_VALUES,
	 "0 AllocSmall,1 Induced,2 LowMemory,3 Empty,4 AllocLarge,5 OutOfSpaceSmallObjectHeap,"
	 "6 OutOfSpaceLargeObjectHeap,7 InducedNoForce,8 Stress,9 InducedLowMemory"},
	{"GCSuspendEEReason", PTL_MAP_VALUES,
	 "0 SuspendOther,1 SuspendForGC,2 SuspendForAppDomainShutdown,3 SuspendForCodePitching,4 SuspendForShutdown,"
	 "5 SuspendForDebugger,6 SuspendForGCPrep,7 SuspendForDebuggerSweep"},
	{"ContentionFlags", PTL_MAP_VALUES, "0 Managed,1 Native"},
	{"TailCallType", PTL_MAP_VALUES, "0 Optimized,1 Recursive,2 Helper"},
	{"ThreadAdjustmentReason", PTL_MAP_VALUES,
	 "0 Warmup,1 Initializing,2 RandomMove,3 ClimbingMove,4 ChangePoint,5 Stabilizing,6 Starvation,7 "
	 "ThreadTimedOut"},
	{"GCRootKind", PTL_MAP_VALUES, "0 Stack,1 Finalizer,2 Handle,3 Older,4 SizedRef,5 Overflow"},
	{"GCHandleKind", PTL_MAP_VALUES,
	 "0 WeakShort,1 WeakLong,2 Strong,3 Pinned,4 Variable,5 RefCounted,6 Dependent,7 AsyncPinned,8 SizedRef"},
	{"KnownPathSource", PTL_MAP_VALUES,
	 "0 ApplicationAssemblies,1 AppNativeImagePaths,2 AppPaths,3 PlatformResourceRoots,4 SatelliteSubdirectory"},
	{"ResolutionAttemptedStage", PTL_MAP_VALUES,
	 "0 FindInLoadContext,1 AssemblyLoadContextLoad,2 ApplicationAssemblies,3 DefaultAssemblyLoadContextFallback,"
	 "4 ResolveSatelliteAssembly,5 AssemblyLoadContextResolvingEvent,6 AppDomainAssemblyResolveEvent"},
	{"ResolutionAttemptedResult", PTL_MAP_VALUES,
	 "0 Success,1 AssemblyNotFound,2 MismatchedAssemblyName,3 IncompatibleVersion,4 Failure,5 Exception"},
	{"ModuleRangeType", PTL_MAP_FLAGS, "4 ColdRange"},
	{"AppDomainFlags", PTL_MAP_FLAGS, "1 Default,2 Executable,4 Shared"},
	{"AssemblyFlags", PTL_MAP_FLAGS, "1 DomainNeutral,2 Dynamic,4 Native,8 Collectible"},
	{"ModuleFlags", PTL_MAP_FLAGS,
	 "1 DomainNeutral,2 Native,4 Dynamic,8 Manifest,0x10 IbcOptimized,0x20 ReadyToRunModule,"
	 "0x40 PartialReadyToRunModule"},
	{"MethodFlags", PTL_MAP_FLAGS,
	 "1 Dynamic,2 Generic,4 HasSharedGenericCode,8 Jitted,0x10 JitHelper,0x20 ProfilerRejectedPrecompiledCode,"
	 "0x40 ReadyToRunRejectedPrecompiledCode"},
	{"StartupMode", PTL_MAP_FLAGS, "1 ManagedExe,2 HostedCLR,4 IjwDll,8 ComActivated,0x10 Other"},
	{"RuntimeSku", PTL_MAP_FLAGS, "1 DesktopClr,2 CoreClr"},
	{"ExceptionThrownFlags", PTL_MAP_FLAGS,
	 "1 HasInnerException,2 Nested,4 ReThrown,8 CorruptedState,0x10 CLSCompliant"},
	{"ILStubGeneratedFlags", PTL_MAP_FLAGS,
	 "1 ReverseInterop,2 COMInterop,4 NGenedStub,8 Delegate,0x10 VarArg,0x20 UnmanagedCallee,0x40 StructStub"},
	{"StartupFlags", PTL_MAP_FLAGS,
	 "1 CONCURRENT_GC,2 LOADER_OPTIMIZATION_SINGLE_DOMAIN,4 LOADER_OPTIMIZATION_MULTI_DOMAIN,0x10 LOADER_SAFEMODE,"
	 "0x100 LOADER_SETPREFERENCE,0x1000 SERVER_GC,0x2000 HOARD_GC_VM,0x4000 SINGLE_VERSION_HOSTING_INTERFACE,"
	 "0x10000 LEGACY_IMPERSONATION,0x20000 DISABLE_COMMITTHREADSTACK,0x40000 ALWAYSFLOW_IMPERSONATION,"
	 "0x80000 TRIM_GC_COMMIT,0x100000 ETW,0x200000 SERVER_BUILD,0x400000 ARM"},
	{"TypeFlags", PTL_MAP_FLAGS,
	 "1 Delegate,2 Finalizable,4 ExternallyImplementedCOMObject,8 Array,0x100 ArrayRankBit0,0x200 ArrayRankBit1,"
	 "0x400 ArrayRankBit2,0x800 ArrayRankBit3,0x1000 ArrayRankBit4,0x2000 ArrayRankBit5"},
	{"GCRootFlags", PTL_MAP_FLAGS, "1 Pinning,2 WeakRef,4 Interior,8 RefCounted"},
	{"GCRootStaticVarFlags", PTL_MAP_FLAGS, "1 ThreadLocal"},
	{"GCRootCCWFlags", PTL_MAP_FLAGS, "1 Strong,2 Pegged"},
	{"ThreadFlags", PTL_MAP_FLAGS, "1 GCSpecial,2 Finalizer,4 ThreadPoolWorker"},
	{"TieredCompilationSettingsFlags", PTL_MAP_FLAGS, "1 QuickJit,2 QuickJitForLoops"},
};

#define MAPS (sizeof(maps) / sizeof(maps[0]))
_Static_assert(MAPS <= 32, "a bit each in etl_known.clr_maps");

static const struct {
	const char *field;
	const char *event; /* prefix of the event's name */
	const char *map;
} uses[] = {
	{"Reason", "GC/Start", "GCReason"},
	{"Reason", "GC/Triggered", "GCReason"},
	{"Reason", "GC/SuspendEEStart", "GCSuspendEEReason"},
	{"Reason", "ThreadPoolWorkerThreadAdjustment/", "ThreadAdjustmentReason"},
	{"Type", "GC/Start", "GCType"},
	{"Type", "GC/CreateSegment", "GCSegmentType"},
	{"AllocationKind", "", "GCAllocationKind"},
	{"ContentionFlags", "", "ContentionFlags"},
	{"TailCallType", "", "TailCallType"},
	{"GCRootKind", "", "GCRootKind"},
	{"GCRootFlag", "", "GCRootFlags"},
	{"Kind", "GC/SetGCHandle", "GCHandleKind"},
	{"Source", "AssemblyLoader/KnownPathProbed", "KnownPathSource"},
	{"Stage", "AssemblyLoader/", "ResolutionAttemptedStage"},
	{"Result", "AssemblyLoader/ResolutionAttempted", "ResolutionAttemptedResult"},
	{"RangeType", "", "ModuleRangeType"},
	{"AppDomainFlags", "", "AppDomainFlags"},
	{"AssemblyFlags", "", "AssemblyFlags"},
	{"ModuleFlags", "", "ModuleFlags"},
	{"MethodFlags", "", "MethodFlags"},
	{"StartupMode", "", "StartupMode"},
	{"Sku", "", "RuntimeSku"},
	{"ExceptionFlags", "", "ExceptionThrownFlags"},
	{"StubFlags", "", "ILStubGeneratedFlags"},
	{"StartupFlags", "", "StartupFlags"},
	{"Flags", "Type/BulkType", "TypeFlags"},
	{"Flags", "GC/BulkRootCCW", "GCRootCCWFlags"},
	{"Flags", "GC/BulkRootStaticVar", "GCRootStaticVarFlags"},
	{"Flags", "AppDomainResourceManagement/ThreadCreated", "ThreadFlags"},
	{"Flags", "Loader/ThreadDC", "ThreadFlags"},
	{"Flags", "TieredCompilation/Settings", "TieredCompilationSettingsFlags"},
};

const char *etl_clr_map_of(const char *event, const char *field)
{
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		if (strcmp(uses[i].field, field) == 0 && strncmp(uses[i].event, event, strlen(uses[i].event)) == 0)
			return uses[i].map;
	return NULL;
}

static int write_map(struct etl_known *known, struct ptl_writer *writer, const struct ptl_guid *provider, size_t index)
{
	struct ptl_map_entry entries[ENTRIES_MAX];
	char names[ENTRIES_MAX][NAME_MAX];
	struct ptl_map map = {
		.provider = *provider, .kind = maps[index].kind, .name = maps[index].name, .entries = entries};
	const char *at = maps[index].entries;

	while (*at && map.count < ENTRIES_MAX) {
		char *rest;
		const unsigned long value = strtoul(at, &rest, 0);
		const size_t length = strcspn(rest + 1, ",");

		snprintf(names[map.count], NAME_MAX, "%.*s", (int)length, rest + 1);
		entries[map.count] = (struct ptl_map_entry){value, names[map.count]};
		map.count++;
		at = rest + 1 + length;
		at += *at == ',';
	}
	return etl_map_write(&known->budget, writer, &map);
}

int etl_clr_maps_write(struct etl_known *known, struct ptl_writer *writer, const struct etl_schema *schema)
{
	size_t provider = 0;
	int status = 0;

	while (provider < etl_clr_provider_count &&
	       !common_guid_equal(&etl_clr_providers[provider].guid, &schema->ptl.provider))
		provider++;
	for (size_t i = 0; provider < etl_clr_provider_count && !status && i < schema->field_count; i++) {
		const char *name = schema->from_table ? schema->fields[i].map : NULL;
		size_t map = 0;

		while (name && map < MAPS && strcmp(maps[map].name, name) != 0)
			map++;
		if (!name || map == MAPS || known->clr_maps[provider] >> map & 1)
			continue;
		known->clr_maps[provider] |= (uint32_t)1 << map;
		status = write_map(known, writer, &schema->ptl.provider, map);
	}
	return status;
}
