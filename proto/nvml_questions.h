// SPDX-License-Identifier: BSD-3-Clause
// The queries of the management library (NVML) that a box makes for its clients, one line each.
// rgpu-monitor, which runs on the box, makes these queries. For each line, rgpu's libnvidia-ml.so.1
// has a function that returns the recorded answer. An answer is sent as the bytes that NVML's
// function has written, with its result, so that a new query needs only a line here.
//
// The number of a query never changes, because client and box may run different releases. Every
// function takes the device as first argument, and then:
//
//   VALUE(number, name, bytes)                     void *out of so many bytes
//   OURS(number, name, bytes)                      the same, but our library has more to say than
//                                                  the answer
//   VALUE_OF(number, name, count, bytes)           unsigned below count, void *out
//   OURS_OF(number, name, count, bytes)            the same, but our library has more to say than
//                                                  the answer
//   VALUE_OF2(number, name, count, count2, bytes)  two of them, void *out
//   VALUE_OF3(number, name, count, count2, count3, bytes)
//   PAIR, TRIPLE, QUAD(number, name)               two, three, four unsigned *
//   TEXT(number, name, bytes)                      char *, unsigned length
//   TEXT_OF(number, name, count, bytes)            unsigned below count, char *, unsigned length
//   VERSIONED(number, name, version, bytes)        a structure whose first word is its version and
//                                                  size
//   VARIANT(number, name, version, bytes)          the same where there are several versions
//   OTHER(number, name, bytes)                     another device, void *out
//   OTHER_OF(number, name, count, bytes)           another device, unsigned below count, void *out
//
// and where there is no device:
//
//   SYSTEM_VALUE(number, name, bytes)              void *out
//   SYSTEM_TEXT(number, name, bytes)               char *, unsigned length
//   SYSTEM_VERSIONED(number, name, version, bytes) a structure as above
#ifndef RGPU_NVML_QUESTIONS_H
#define RGPU_NVML_QUESTIONS_H

// rgpud writes this byte to rgpu-monitor to query the utilization of the GPUs. Any other byte
// requests the answers to all queries.
#define MONITOR_GLANCE 'g'

#define NVML_STRUCTURE(version, bytes) ((unsigned)(bytes) | (unsigned)(version) << 24)

// clang-format off
#define NVML_QUESTIONS(VALUE, OURS, VALUE_OF, OURS_OF, VALUE_OF2, VALUE_OF3, PAIR, TRIPLE, QUAD, TEXT, TEXT_OF, \
                       VERSIONED, VARIANT, OTHER, OTHER_OF, SYSTEM_VALUE, SYSTEM_TEXT, SYSTEM_VERSIONED) \
    SYSTEM_TEXT(1, nvmlSystemGetDriverVersion, 80) \
    SYSTEM_TEXT(2, nvmlSystemGetNVMLVersion, 80) \
    SYSTEM_VALUE(5, nvmlSystemGetConfComputeState, 12) \
    SYSTEM_VALUE(6, nvmlSystemGetConfComputeCapabilities, 8) \
    SYSTEM_VALUE(7, nvmlSystemGetConfComputeGpusReadyState, 4) \
    SYSTEM_VERSIONED(8, nvmlSystemGetConfComputeSettings, 1, 20) \
    VALUE(20, nvmlDeviceGetBrand, 4) \
    VALUE(21, nvmlDeviceGetArchitecture, 4) \
    VALUE(22, nvmlDeviceGetMultiGpuBoard, 4) \
    VALUE(23, nvmlDeviceGetDisplayMode, 4) \
    VALUE(24, nvmlDeviceGetDisplayActive, 4) \
    VALUE(25, nvmlDeviceGetPersistenceMode, 4) \
    VALUE(26, nvmlDeviceGetComputeMode, 4) \
    VALUE(27, nvmlDeviceGetPerformanceState, 4) \
    VALUE(28, nvmlDeviceGetPowerState, 4) \
    VALUE(29, nvmlDeviceGetPowerManagementMode, 4) \
    VALUE(30, nvmlDeviceGetPowerManagementLimit, 4) \
    VALUE(31, nvmlDeviceGetPowerManagementDefaultLimit, 4) \
    VALUE(32, nvmlDeviceGetEnforcedPowerLimit, 4) \
    VALUE(33, nvmlDeviceGetPowerUsage, 4) \
    VALUE(34, nvmlDeviceGetPowerSource, 4) \
    VALUE(35, nvmlDeviceGetMaxPcieLinkGeneration, 4) \
    VALUE(36, nvmlDeviceGetMaxPcieLinkWidth, 4) \
    VALUE(37, nvmlDeviceGetCurrPcieLinkGeneration, 4) \
    VALUE(38, nvmlDeviceGetCurrPcieLinkWidth, 4) \
    VALUE(39, nvmlDeviceGetGpuMaxPcieLinkGeneration, 4) \
    VALUE(40, nvmlDeviceGetPcieReplayCounter, 4) \
    VALUE(41, nvmlDeviceGetPcieSpeed, 4) \
    VALUE(42, nvmlDeviceGetPcieLinkMaxSpeed, 4) \
    VALUE(43, nvmlDeviceGetFanSpeed, 4) \
    VALUE(44, nvmlDeviceGetNumFans, 4) \
    VALUE(45, nvmlDeviceGetBoardId, 4) \
    VALUE(46, nvmlDeviceGetMinorNumber, 4) \
    VALUE(47, nvmlDeviceGetNumGpuCores, 4) \
    VALUE(48, nvmlDeviceGetMemoryBusWidth, 4) \
    VALUE(49, nvmlDeviceGetAdaptiveClockInfoStatus, 4) \
    VALUE(50, nvmlDeviceGetIrqNum, 4) \
    VALUE(51, nvmlDeviceGetBusType, 4) \
    VALUE(52, nvmlDeviceGetVirtualizationMode, 4) \
    VALUE(53, nvmlDeviceGetDefaultEccMode, 4) \
    VALUE(54, nvmlDeviceGetMaxMigDeviceCount, 4) \
    VALUE(55, nvmlDeviceGetRetiredPagesPendingStatus, 4) \
    VALUE(56, nvmlDeviceGetModuleId, 4) \
    VALUE(57, nvmlDeviceGetInforomConfigurationChecksum, 4) \
    VALUE(58, nvmlDeviceGetAccountingMode, 4) \
    VALUE(59, nvmlDeviceGetAccountingBufferSize, 4) \
    VALUE(60, nvmlDeviceIsMigDeviceHandle, 4) \
    VALUE(61, nvmlDeviceGetTotalEnergyConsumption, 8) \
    VALUE(62, nvmlDeviceGetSupportedClocksThrottleReasons, 8) \
    VALUE(63, nvmlDeviceGetCurrentClocksThrottleReasons, 8) \
    VALUE(64, nvmlDeviceGetSupportedClocksEventReasons, 8) \
    VALUE(65, nvmlDeviceGetCurrentClocksEventReasons, 8) \
    VALUE(66, nvmlDeviceGetBAR1MemoryInfo, 24) \
    VALUE(67, nvmlDeviceGetRowRemapperHistogram, 20) \
    VALUE(68, nvmlDeviceGetFBCStats, 12) \
    VALUE(69, nvmlDeviceGetGpuFabricInfo, 28) \
    VALUE(70, nvmlDeviceGetConfComputeMemSizeInfo, 16) \
    OURS(72, nvmlDeviceGetUtilizationRates, 8) \
    OURS(73, nvmlDeviceGetPciInfo_v3, 68) \
    VALUE(74, nvmlDeviceGetHostVgpuMode, 4) \
    VALUE(77, nvmlDeviceGetConfComputeProtectedMemoryUsage, 24) \
    VALUE(78, nvmlDeviceGetUnrepairableMemoryFlag_v1, 4) \
    VALUE(75, nvmlDeviceGetC2cModeInfoV, 4) \
    VALUE(76, nvmlDeviceGetNumaNodeId, 4) \
    PAIR(90, nvmlDeviceGetEccMode) \
    PAIR(91, nvmlDeviceGetMigMode) \
    PAIR(92, nvmlDeviceGetGpuOperationMode) \
    PAIR(93, nvmlDeviceGetEncoderUtilization) \
    PAIR(94, nvmlDeviceGetDecoderUtilization) \
    PAIR(95, nvmlDeviceGetJpgUtilization) \
    PAIR(96, nvmlDeviceGetOfaUtilization) \
    PAIR(97, nvmlDeviceGetPowerManagementLimitConstraints) \
    PAIR(98, nvmlDeviceGetAutoBoostedClocksEnabled) \
    PAIR(99, nvmlDeviceGetGspFirmwareMode) \
    PAIR(100, nvmlDeviceGetMinMaxFanSpeed) \
    PAIR(101, nvmlDeviceGetDriverModel) \
    PAIR(102, nvmlDeviceGetDriverModel_v2) \
    TRIPLE(110, nvmlDeviceGetEncoderStats) \
    QUAD(111, nvmlDeviceGetRemappedRows) \
    VALUE_OF(120, nvmlDeviceGetTemperature, 1, 4) \
    VALUE_OF(121, nvmlDeviceGetTemperatureThreshold, 8, 4) \
    VALUE_OF(122, nvmlDeviceGetClockInfo, 4, 4) \
    VALUE_OF(123, nvmlDeviceGetMaxClockInfo, 4, 4) \
    VALUE_OF(124, nvmlDeviceGetApplicationsClock, 4, 4) \
    VALUE_OF(125, nvmlDeviceGetDefaultApplicationsClock, 4, 4) \
    VALUE_OF(126, nvmlDeviceGetMaxCustomerBoostClock, 4, 4) \
    VALUE_OF(127, nvmlDeviceGetAPIRestriction, 2, 4) \
    VALUE_OF(128, nvmlDeviceGetEncoderCapacity, 2, 4) \
    VALUE_OF(129, nvmlDeviceGetNvLinkState, 18, 4) \
    VALUE_OF(130, nvmlDeviceGetNvLinkVersion, 18, 4) \
    VALUE_OF(131, nvmlDeviceGetNvLinkRemoteDeviceType, 18, 4) \
    OURS_OF(132, nvmlDeviceGetNvLinkRemotePciInfo_v2, 18, 68) \
    VALUE_OF(133, nvmlDeviceGetViolationStatus, 6, 16) \
    VALUE_OF(134, nvmlDeviceGetFanSpeed_v2, 4, 4) \
    VALUE_OF2(140, nvmlDeviceGetClock, 4, 4, 4) \
    VALUE_OF2(141, nvmlDeviceGetTotalEccErrors, 2, 2, 8) \
    VALUE_OF2(142, nvmlDeviceGetDetailedEccErrors, 2, 2, 32) \
    VALUE_OF2(143, nvmlDeviceGetNvLinkCapability, 18, 6, 4) \
    VALUE_OF3(144, nvmlDeviceGetMemoryErrorCounter, 2, 2, 8, 8) \
    TEXT(160, nvmlDeviceGetSerial, 30) \
    TEXT(161, nvmlDeviceGetVbiosVersion, 32) \
    TEXT(162, nvmlDeviceGetBoardPartNumber, 80) \
    TEXT(163, nvmlDeviceGetInforomImageVersion, 16) \
    VALUE(164, nvmlDeviceGetGspFirmwareVersion, 64) \
    TEXT_OF(165, nvmlDeviceGetInforomVersion, 4, 16) \
    VERSIONED(180, nvmlDeviceGetMarginTemperature, 1, 8) \
    VARIANT(181, nvmlDeviceGetGpuFabricInfoV, 2, 36) \
    VARIANT(187, nvmlDeviceGetGpuFabricInfoV, 3, 40) \
    VERSIONED(182, nvmlDeviceGetCapabilities, 1, 8) \
    VERSIONED(185, nvmlDeviceGetSramEccErrorStatus, 1, 104) \
    VERSIONED(186, nvmlDeviceGetPlatformInfo, 2, 44) \
    VERSIONED(188, nvmlDeviceGetAddressingMode, 1, 8) \
    VERSIONED(189, nvmlDeviceGetPdi, 1, 16) \
    VERSIONED(190, nvmlDeviceGetRepairStatus, 1, 12) \
    VARIANT(191, nvmlDeviceGetPciInfoExt, 1, 64) \
    VARIANT(192, nvmlDeviceGetMemoryInfo_v2, 2, 40) \
    OTHER(200, nvmlDeviceGetTopologyCommonAncestor, 4) \
    OTHER_OF(201, nvmlDeviceGetP2PStatus, 6, 4)
// clang-format on

// Numbers of the queries about the use of a GPU by all processes. A lease with a share of the GPU
// does not get the answers.
#define NVML_OF_WHOLE_GPUS \
    { \
        66, 68, 72, 77, 93, 94, 95, 96, 110, 192 \
    }

// clang-format off
// Fields (nvmlDeviceGetFieldValues) that clients may query: FIELD(field, number of its scopes).
#define NVML_FIELDS(FIELD) \
    FIELD(74, 1) FIELD(75, 1) FIELD(76, 1) FIELD(77, 1) FIELD(78, 1) FIELD(82, 1) FIELD(91, 1) FIELD(95, 1) \
    FIELD(170, 1) FIELD(185, 3) FIELD(186, 3) FIELD(187, 2) FIELD(188, 2) FIELD(189, 2) FIELD(190, 2) \
    FIELD(191, 2) FIELD(192, 2) FIELD(193, 1) FIELD(194, 1) FIELD(195, 1) FIELD(196, 1) FIELD(228, 1) \
    FIELD(229, 1) FIELD(230, 1) FIELD(90, 1) FIELD(147, 1) FIELD(164, 18) FIELD(165, 18) FIELD(166, 18)
// clang-format on

// The head of an answer: the query's number, the number of bytes that follow, the query's arguments
// (one byte each, the first one lowest; a device is its index in the library), and the result of
// NVML's function. Answers follow each other without padding. Unsupported queries have no answer.
// The query of a field has the number NVML_FIELD_NUMBERS + field, and its answer is struct
// nvml_field.
struct nvml_answer {
    unsigned short number, size;
    unsigned arguments;
    int result;
};

enum {
    NVML_FIELD_NUMBERS = 1024,
    NVML_ANSWERS_MAX = 16384, // bytes of all answers about one GPU
    NVML_SYSTEM_MAX = 2048,   // bytes of all answers about the box
    NVML_ANSWER_MAX = 120     // most bytes of one answer
};

#endif
