// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The fabric's configuration port as the engine's pins see it (UG570, UG974): words in, status lines out.
///
/// It follows packets as far as the status lines go: the synchronisation word makes PRDONE fall, a DESYNC command ends
/// the image. RDWRB that rises while CSIB stays low is an abort sequence. What the words mean is asked of the board.
#pragma once
#include <cstdint>
#include <vector>

#include "eddy_boundary.h"

class Icape3 {
 public:
  /// What the words of this edge amount to.
  enum class Event { kNone, kIdentified, kDone, kAborted };

  /// Whether an edge may change anything here.
  bool busy(const EngineUp& pins) const { return !pins.icap_csib_o || !was_csib_ || reading_ || prdone_in_ || prerror_in_; }

  /// One rising edge, with the pins as they were before it.
  Event step(const EngineUp& pins, Configuration& status) {
    if (prdone_in_ && !--prdone_in_) status.cfg_prdone_i = prdone_;
    if (prerror_in_ && !--prerror_in_) status.cfg_prerror_i = prerror_;
    const bool csib = pins.icap_csib_o, rdwrb = pins.icap_rdwrb_o;
    Event event = Event::kNone;
    if (!csib && !was_csib_ && rdwrb != was_rdwrb_) {
      reading_ = true;
    } else if (reading_ && csib) {
      reading_ = false;
      forget();
      event = Event::kAborted;
    }
    if (!csib && !rdwrb) event = take(swap(pins.icap_i_o));
    was_csib_ = csib;
    was_rdwrb_ = rdwrb;
    // UG909: no configuration error, synchronised, reading back, no abort.
    status.icap_o_i = static_cast<uint32_t>(!status.cfg_prerror_i << 7 | synced_ << 6 | !reading_ << 4 | 0xB);
    return event;
  }

  /// The image so far, from its dummy words on.
  const std::vector<uint32_t>& words() const { return words_; }

  /// Nobody uses it: the device waits for a synchronisation word.
  void rest() { forget(); }

  /// What the lines say in a few cycles.
  void report(bool prdone, bool prerror) {
    if (prdone) prdone_ = true, prdone_in_ = kLatency;
    if (prerror) prerror_ = true, prerror_in_ = kLatency;
  }

 private:
  static constexpr uint32_t kSync = 0xAA995566, kWriteCommand = 0x30008001, kDesync = 0x0000000D;
  static constexpr uint32_t kRecord = 0x45444459;  // "EDDY", the simulated images' identity record
  static constexpr uint32_t kLatency = 3;          // cycles from a word to the status lines
  static constexpr size_t kLead = 12;              // words of an image before the synchronisation word
  static constexpr uint32_t kLongestRecord = 4096;

  /// The bits of each byte the other way round.
  static uint32_t swap(uint32_t word) {
    word = (word >> 4 & 0x0F0F0F0F) | (word & 0x0F0F0F0F) << 4;
    word = (word >> 2 & 0x33333333) | (word & 0x33333333) << 2;
    return (word >> 1 & 0x55555555) | (word & 0x55555555) << 1;
  }

  Event take(uint32_t word) {
    if (!synced_ && words_.size() == kLead) {
      if (word != kSync) words_.erase(words_.begin());
    }
    words_.push_back(word);
    if (!synced_) {
      if (word != kSync) return Event::kNone;
      synced_ = true;
      identified_ = false;
      prdone_ = prerror_ = false;
      prdone_in_ = prerror_in_ = kLatency;
      return Event::kNone;
    }
    if (!identified_ && words_.size() >= record_words()) {
      identified_ = true;
      return Event::kIdentified;
    }
    const size_t count = words_.size();
    if (word != kDesync || words_[count - 2] != kWriteCommand) return Event::kNone;
    synced_ = false;
    return Event::kDone;
  }

  /// Words of an image up to the end of its identity record, or to where it is seen that there is none.
  size_t record_words() const {
    const size_t at = kLead + 2;
    if (words_.size() < at + 2) return at + 2;
    const uint32_t bytes = words_[at + 1];
    return words_[at] != kRecord || bytes > kLongestRecord ? at + 2 : at + 2 + (bytes + 3) / 4;
  }

  void forget() {
    synced_ = false;
    words_.clear();
  }

  std::vector<uint32_t> words_;
  bool was_csib_ = true, was_rdwrb_ = true, reading_ = false, synced_ = false, identified_ = false;
  bool prdone_ = true, prerror_ = false;
  uint32_t prdone_in_ = 0, prerror_in_ = 0;
};
