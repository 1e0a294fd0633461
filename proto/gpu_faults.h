// SPDX-License-Identifier: BSD-3-Clause
// Faults of GPUs that the management library (NVML) reports: Xid errors, one row for each number or
// range of numbers of NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors), and counters. A box
// acts by the class of a fault (setting gpu_faults of rgpud).
#ifndef RGPU_GPU_FAULTS_H
#define RGPU_GPU_FAULTS_H

// note         needs no action
// application  ends the program that caused it, and no other
// unknown      has no class in the catalogue
// reset        the GPU needs a reset, or its machine a restart
// replace      the GPU, its cables or its board need a person, or a replacement
enum gpu_fault_class { FAULT_NOTE, FAULT_APPLICATION, FAULT_UNKNOWN, FAULT_RESET, FAULT_REPLACE };
enum { FAULT_CLASSES = 5 };
#define FAULT_CLASS_NAMES \
    { \
        "note", "application", "unknown", "reset", "replace" \
    }

// The sections of the catalogue (resolution buckets, the action to take at once), and their class.
// Numbers that the driver does not use are in CONTACT_SUPPORT too.
#define XID_SECTIONS(X) \
    X(IGNORE, FAULT_NOTE) \
    X(WORKFLOW_XID_45, FAULT_NOTE) \
    X(XID_154, FAULT_UNKNOWN) \
    X(NOT_STATED, FAULT_UNKNOWN) \
    X(CHECK_UVM, FAULT_UNKNOWN) \
    X(UPDATE_SWFW, FAULT_UNKNOWN) \
    X(RESTART_APP, FAULT_APPLICATION) \
    X(RESTART_VM, FAULT_RESET) \
    X(RESTART_BM, FAULT_RESET) \
    X(RESET_GPU, FAULT_RESET) \
    X(WORKFLOW_XID_48, FAULT_RESET) \
    X(WORKFLOW_NVLINK_ERR, FAULT_RESET) \
    X(WORKFLOW_NVLINK5_ERR, FAULT_RESET) \
    X(CHECK_MECHANICALS, FAULT_REPLACE) \
    X(CONTACT_SUPPORT, FAULT_REPLACE)

// X(first number, last number, section, text)
// clang-format off
#define XIDS(X) \
    X(1, 7, CONTACT_SUPPORT, "not used by the driver") \
    X(8, 8, RESTART_APP, "the GPU stopped processing a channel") \
    X(9, 10, CONTACT_SUPPORT, "not used by the driver") \
    X(11, 11, RESTART_APP, "commands of a program are invalid or corrupted") \
    X(12, 12, CONTACT_SUPPORT, "not used by the driver") \
    X(13, 13, RESTART_APP, "exception in the compute engine") \
    X(14, 14, IGNORE, "not used by the driver") \
    X(15, 24, CONTACT_SUPPORT, "not used by the driver") \
    X(25, 25, RESTART_APP, "commands of a program are invalid") \
    X(26, 30, CONTACT_SUPPORT, "not used by the driver") \
    X(31, 31, RESTART_APP, "page fault of GPU memory") \
    X(32, 32, RESTART_APP, "commands of a program are invalid or corrupted") \
    X(33, 36, CONTACT_SUPPORT, "not used by the driver") \
    X(37, 38, IGNORE, "error of the driver's firmware") \
    X(39, 41, RESTART_APP, "exception in a copy engine") \
    X(42, 42, CONTACT_SUPPORT, "not used by the driver") \
    X(43, 43, IGNORE, "the GPU stopped processing a program") \
    X(44, 44, IGNORE, "fault during a switch of contexts") \
    X(45, 45, WORKFLOW_XID_45, "channels removed after an earlier error") \
    X(46, 46, RESET_GPU, "the GPU stopped processing") \
    X(47, 47, CONTACT_SUPPORT, "not used by the driver") \
    X(48, 48, WORKFLOW_XID_48, "double-bit ECC error") \
    X(49, 53, CONTACT_SUPPORT, "not used by the driver") \
    X(54, 54, CHECK_MECHANICALS, "auxiliary power is not connected") \
    X(55, 59, CONTACT_SUPPORT, "not used by the driver") \
    X(60, 60, RESTART_APP, "exception in the video processor") \
    X(61, 61, CONTACT_SUPPORT, "not used by the driver") \
    X(62, 62, RESET_GPU, "an internal controller halted") \
    X(63, 63, IGNORE, "a row of memory is remapped") \
    X(64, 64, RESET_GPU, "a row of memory cannot be remapped") \
    X(65, 65, CONTACT_SUPPORT, "not used by the driver") \
    X(66, 67, IGNORE, "illegal access by the driver") \
    X(68, 68, RESTART_APP, "exception in a video decoder") \
    X(69, 69, RESTART_APP, "class error in the compute engine") \
    X(70, 72, RESTART_APP, "unknown error of a copy engine") \
    X(73, 73, CONTACT_SUPPORT, "not used by the driver") \
    X(74, 74, WORKFLOW_NVLINK_ERR, "NVLink error") \
    X(75, 77, RESTART_APP, "unknown error of a copy engine") \
    X(78, 78, UPDATE_SWFW, "a virtual GPU did not start") \
    X(79, 79, RESTART_BM, "the GPU has fallen off the bus") \
    X(80, 80, RESTART_APP, "data sent to the GPU are corrupted") \
    X(81, 81, CONTACT_SUPPORT, "not used by the driver") \
    X(82, 82, RESTART_APP, "error of a JPEG engine") \
    X(83, 84, RESTART_APP, "error of a video decoder") \
    X(85, 85, RESTART_APP, "unknown error of a copy engine") \
    X(86, 86, RESTART_APP, "exception in the optical flow engine") \
    X(87, 87, CONTACT_SUPPORT, "not used by the driver") \
    X(88, 89, RESTART_APP, "error of a video decoder") \
    X(90, 91, CONTACT_SUPPORT, "not used by the driver") \
    X(92, 92, IGNORE, "many single-bit ECC errors") \
    X(93, 93, IGNORE, "the InfoROM was written too often") \
    X(94, 94, RESTART_APP, "contained memory error") \
    X(95, 95, RESET_GPU, "uncontained memory error") \
    X(96, 98, RESTART_APP, "error of a video decoder") \
    X(99, 105, RESTART_APP, "error of a JPEG engine") \
    X(106, 107, IGNORE, "test message of the management bus") \
    X(108, 108, IGNORE, "not used by the driver") \
    X(109, 109, RESET_GPU, "a switch of contexts timed out") \
    X(110, 110, RESET_GPU, "security fault") \
    X(111, 118, CONTACT_SUPPORT, "not used by the driver") \
    X(119, 119, RESET_GPU, "the GPU's system processor does not answer") \
    X(120, 120, RESET_GPU, "error of the GPU's system processor") \
    X(121, 121, IGNORE, "error of the link between chips") \
    X(122, 125, CONTACT_SUPPORT, "not used by the driver") \
    X(126, 135, RESTART_APP, "unknown error of a copy engine") \
    X(136, 136, RESET_GPU, "training of a link failed") \
    X(137, 137, IGNORE, "NVLink privilege error") \
    X(138, 138, CONTACT_SUPPORT, "not used by the driver") \
    X(139, 139, RESTART_APP, "error of the optical flow engine") \
    X(140, 140, RESET_GPU, "ECC error without recovery") \
    X(141, 141, IGNORE, "error of CUDA's fast path") \
    X(142, 142, CONTACT_SUPPORT, "error of a video encoder") \
    X(143, 143, RESET_GPU, "the GPU was not initialized") \
    X(144, 150, WORKFLOW_NVLINK5_ERR, "NVLink error") \
    X(151, 151, RESTART_VM, "a key was not rotated") \
    X(152, 153, IGNORE, "error of a deep learning accelerator") \
    X(154, 154, XID_154, "the action that recovers the GPU has changed") \
    X(155, 155, RESET_GPU, "NVLink error that software defines") \
    X(156, 156, RESET_GPU, "a part of the GPU is retired") \
    X(157, 157, IGNORE, "a part of the GPU cannot be retired") \
    X(158, 158, RESET_GPU, "fatal timeout") \
    X(159, 159, CHECK_UVM, "error of a coherent link") \
    X(160, 160, IGNORE, "a channel of memory is retired") \
    X(161, 161, IGNORE, "a channel of memory cannot be retired") \
    X(162, 163, NOT_STATED, "power smoothing was switched") \
    X(164, 165, NOT_STATED, "power smoothing wears out") \
    X(166, 166, NOT_STATED, "NVLink traffic came before its encryption") \
    X(167, 167, NOT_STATED, "fatal timeout of PCIe") \
    X(168, 168, NOT_STATED, "the GPU has less memory than it was built with") \
    X(169, 169, NOT_STATED, "an internal controller halted") \
    X(170, 170, NOT_STATED, "interrupt of a confidential link") \
    X(171, 171, NOT_STATED, "DRAM error that cannot be corrected") \
    X(172, 172, NOT_STATED, "SRAM error that cannot be corrected")
// clang-format on

// Counters: X(number of the field in NVML, name in DCGM without DCGM_FI_DEV_, judged, class, text).
// JUDGED is
//
//   SLOWED  a bit of CLOCKS_SLOWED that was not set before is a fault
//   FALLS   each fall between two readings is a fault
//   RISES   each rise between two readings is a fault
//   SET     a value other than zero is a fault, once
//   NEVER   the value is only reported
//
// Two of them are no fields in NVML but have functions of their own.
enum { COUNTER_CLOCKS = 1001, COUNTER_LINK_WIDTH = 1002 };
// Reasons for slower clocks that hardware gives: slowdown, temperature, power supply.
#define CLOCKS_SLOWED 0xc8
#define GPU_COUNTERS(X) \
    X(COUNTER_CLOCKS, CLOCKS_EVENT_REASONS, SLOWED, UNKNOWN, \
      "Reasons for which clocks are slower, as bits.") \
    X(COUNTER_LINK_WIDTH, PCIE_LINK_WIDTH, FALLS, UNKNOWN, "Lanes of PCIe in use.") \
    X(3, ECC_SBE_VOL_TOTAL, NEVER, NOTE, "Single-bit ECC errors since the driver was loaded.") \
    X(4, ECC_DBE_VOL_TOTAL, RISES, RESET, "Double-bit ECC errors since the driver was loaded.") \
    X(142, CORRECTABLE_REMAPPED_ROWS, NEVER, NOTE, \
      "Rows of memory remapped after errors that were corrected.") \
    X(143, UNCORRECTABLE_REMAPPED_ROWS, NEVER, NOTE, \
      "Rows of memory remapped after errors that were not corrected.") \
    X(144, ROW_REMAP_PENDING, SET, UNKNOWN, "1 where rows are remapped at the next reset.") \
    X(145, ROW_REMAP_FAILURE, SET, REPLACE, "1 where a row could not be remapped.") \
    X(94, PCIE_REPLAY_COUNTER, NEVER, NOTE, "Packets that PCIe sent again.") \
    X(38, NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, NEVER, NOTE, "Flits with errors on all NVLinks.") \
    X(45, NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, NEVER, NOTE, "Data with errors on all NVLinks.") \
    X(52, NVLINK_REPLAY_ERROR_COUNT_TOTAL, NEVER, NOTE, "Replays on all NVLinks.") \
    X(59, NVLINK_RECOVERY_ERROR_COUNT_TOTAL, RISES, UNKNOWN, "Recoveries of all NVLinks.")

#define GPU_COUNTERS_COUNT(field, name, judged, class, text) +1
enum { GPU_COUNTERS_MAX = 0 GPU_COUNTERS(GPU_COUNTERS_COUNT) };

#endif
