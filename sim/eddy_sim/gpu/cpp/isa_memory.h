// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A sparse memory of 2**32 bytes (zero where never written), with the console and the exit register of Vortex's map.
///
/// Bytes stored to 0x40..0x7f go to the console (zeros are dropped); a store to 0x88 ends the program with that code; so
/// does a store of an odd number to `tohost`, in the convention of riscv-tests (1 is success, otherwise twice the number
/// of what failed, plus one).
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

namespace isa {

enum class Ended : int { kNo = 0, kExit = 1, kTohost = 2 };

class Memory {
 public:
  static constexpr uint32_t kPageBits = 12, kPage = 1u << kPageBits;
  static constexpr uint32_t kConsole = 0x40, kConsoleEnd = 0x80, kExit = 0x88;

  void watch_tohost(uint32_t address) { tohost_ = address, watched_ = true; }

  /// Have `bytes` from `address` on, both multiples of 8, be the caller's memory instead of pages of this one.
  void map(uint32_t address, uint8_t* data, uint32_t bytes) { mapped_ = data, mapped_at_ = address, mapped_bytes_ = bytes; }

  uint8_t* page(uint32_t address) {
    const uint32_t number = address >> kPageBits;
    if (number != last_ || !last_page_) {
      auto& slot = pages_[number];
      if (!slot) slot.reset(new uint8_t[kPage]());
      last_ = number;
      last_page_ = slot.get();
    }
    return last_page_;
  }

  /// What is reached from there must not cross a word of eight bytes.
  uint8_t* at(uint32_t address) {
    if (address - mapped_at_ < mapped_bytes_) return mapped_ + (address - mapped_at_);
    return page(address) + (address & (kPage - 1));
  }

  void write(uint32_t address, const uint8_t* data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) *at(address + static_cast<uint32_t>(i)) = data[i];
  }
  void read(uint32_t address, uint8_t* data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) data[i] = *at(address + static_cast<uint32_t>(i));
  }

  uint32_t load(uint32_t address, unsigned bytes) {
    uint32_t value = 0;
    std::memcpy(&value, at(address), bytes);
    return value;
  }

  /// Up to eight bytes of an aligned word of eight; bit k of `strobe` is byte k.
  void store(uint32_t address, uint64_t data, uint8_t strobe) {
    uint8_t* word = at(address & ~7u);
    for (unsigned k = 0; k < 8; k++) {
      if (strobe >> k & 1) word[k] = static_cast<uint8_t>(data >> (8 * k));
    }
    if ((address & ~7u) < 0x100) io(address & ~7u, data, strobe);
    if (watched_ && (address & ~7u) == (tohost_ & ~7u)) check_tohost();
  }

  Ended ended() const { return ended_; }
  uint32_t exit_code() const { return exit_code_; }
  std::string& console() { return console_; }

 private:
  void io(uint32_t address, uint64_t data, uint8_t strobe) {
    for (unsigned k = 0; k < 8; k++) {
      const auto byte = static_cast<char>(data >> (8 * k));
      const uint32_t at = address + k;
      if ((strobe >> k & 1) && at >= kConsole && at < kConsoleEnd && byte) console_.push_back(byte);
    }
    if (address == kExit && (strobe & 1)) end(Ended::kExit, load(kExit, 4));
  }

  void check_tohost() {
    const uint32_t value = load(tohost_, 4);
    if (value & 1) end(Ended::kTohost, value >> 1);
  }

  void end(Ended how, uint32_t code) {
    if (ended_ != Ended::kNo) return;
    ended_ = how;
    exit_code_ = code;
  }

  std::unordered_map<uint32_t, std::unique_ptr<uint8_t[]>> pages_;
  uint8_t* mapped_ = nullptr;
  uint32_t mapped_at_ = 0, mapped_bytes_ = 0;
  uint32_t last_ = 0;
  uint8_t* last_page_ = nullptr;
  uint32_t tohost_ = 0;
  bool watched_ = false;
  Ended ended_ = Ended::kNo;
  uint32_t exit_code_ = 0;
  std::string console_;
};

}  // namespace isa
