// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the host library and a started image agree on; included by C and by assembly. All words have 32 bits.
//
// A slice of a start finds in mscratch the address of four words: of the record, the first core it is, one past its last,
// and how many cores there are. The record is the library's, in the memory of the device.
#ifndef EDDY_VX_LAYOUT_H
#define EDDY_VX_LAYOUT_H

// The four words of a slice.
#define SLICE_RECORD 0
#define SLICE_CORE 4
#define SLICE_END 8
#define SLICE_CORES 12

// The record.
#define RECORD_ARGUMENTS 0   // address of what the host gave as arguments
#define RECORD_STATES 4      // address of the cores' states, STATE_BYTES each
#define RECORD_STACKS 8      // address of the stacks, by core and lane
#define RECORD_STACK_BYTES 12
#define RECORD_PRINTED 16    // address of what cores print, PRINTED_BYTES each: bytes that were to be printed, then they
#define RECORD_BYTES 20

// A core's state, to which gp points.
#define STATE_ARGUMENTS 0
#define STATE_CORE 4
#define STATE_CORES 8
#define STATE_PRINTED 12
#define STATE_GRID 16
#define STATE_BLOCK 28
#define STATE_FUNCTION 40
#define STATE_ARGUMENT 44
#define STATE_FIRST 48
#define STATE_LAST 52
#define STATE_GROUP_ITEMS 56
#define STATE_GROUP_WARPS 60
#define STATE_SLOTS 64       // groups side by side; 0 where each lane is a group
#define STATE_CYCLES 68      // 64 bits, at the core's end
#define STATE_INSTRUCTIONS 76
#define STATE_EXIT 84
#define STATE_BYTES 128

// Thread-local variables of a lane, to which tp points: at the top of its stack.
#define LANE_BYTES 64

#define PRINTED_BYTES 16384
#define STACK_BYTES 4096

#endif
