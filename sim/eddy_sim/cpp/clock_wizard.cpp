// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#include "clock_wizard.h"

namespace {

constexpr uint32_t kSoftReset = 0xA;
constexpr uint32_t kLoadStart = 1, kUseRegisters = 2;
// The configuration the registers show after reset: multiply by 10, divide by 1, then by what gives the default.
constexpr uint32_t kMultiply = 10, kDefaultConfig = kMultiply << 8 | 1u;

}  // namespace

void ClockWizard::back_to_default() {
  config_ = kDefaultConfig;
  const uint64_t thousandths = input_hz_ * kMultiply * 1000 / default_hz_;
  divide_ = static_cast<uint32_t>(thousandths / 1000 | thousandths % 1000 << 8);
  load_ = 0;
  active_period_ = default_period_;
}

/// Output = input * (mult + mult_frac/1000) / div / (divide + divide_frac/1000), rounded to whole femtoseconds.
uint64_t ClockWizard::asked_period() const {
  const uint64_t div = config_ & 0xFF;
  const uint64_t mult = (config_ >> 8 & 0xFF) * 1000 + (config_ >> 16 & 0x3FF);
  const uint64_t divide = (divide_ & 0xFF) * 1000 + (divide_ >> 8 & 0x3FF);
  if (!div || !mult || divide < 1000) return 0;
  const Fs numerator = static_cast<Fs>(kFsPerSecond) * div * divide;
  const Fs denominator = static_cast<Fs>(input_hz_) * mult;
  return static_cast<uint64_t>((numerator + denominator / 2) / denominator);
}

uint32_t ClockWizard::read(uint32_t offset) const {
  switch (offset) {
    case kStatus: return locked_;
    case kConfig: return config_;
    case kDivide0: return divide_;
    case kLoad: return load_;
    default: return 0;
  }
}

bool ClockWizard::write(uint32_t offset, uint32_t value) {
  switch (offset) {
    case kReset:
      if (value != kSoftReset) return false;
      back_to_default();
      return true;
    case kConfig: config_ = value & 0x03FFFFFF; return false;
    case kDivide0: divide_ = value & 0x0003FFFF; return false;
    case kLoad:
      load_ = value & (kLoadStart | kUseRegisters);
      if (!(value & kLoadStart)) return false;
      load_ &= ~kLoadStart;  // the start bit clears itself
      active_period_ = value & kUseRegisters ? asked_period() : default_period_;
      return true;
    default: return false;
  }
}
