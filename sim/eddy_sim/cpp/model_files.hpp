// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The definitions behind `model_files.h`, in the same unit as Verilator's runtime, which was compiled with its own
/// function for `$readmem` renamed to `verilated_readmem`.
///
/// `fopen` is defined here for all of the shared object: nothing in it opens a file of the machine.
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstring>

#include "model_files.h"

bool model_stops_are_caught = false;

void stop_model(const std::string& why) {
  if (model_stops_are_caught) throw ModelStopped{why};
  std::fprintf(stderr, "%%Error: %s\n", why.c_str());
  std::fflush(nullptr);
  _exit(1);
}

namespace {

const ModelFile* given_files = nullptr;
size_t given_count = 0;

const ModelFile& data_file(const std::string& asked) {
  std::string name = asked;
  while (name.compare(0, 2, "./") == 0) name.erase(0, 2);
  std::string others;
  for (size_t i = 0; i < given_count; i++) {
    if (name == given_files[i].name) return given_files[i];
    others += std::string(i ? ", " : "") + given_files[i].name;
  }
  const bool placed = name.find('/') != std::string::npos;
  stop_model("it reads \"" + asked + "\", " +
             (placed ? "but a data file is named by its file name alone, without folders"
                     : "which is no data file of its .f list (there " +
                           (given_count ? "are: " + others : std::string("are none")) + "); name it there"));
}

unsigned digit_of(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
}

bool is_digit(char c, bool hex) {
  const char low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (low == 'x' || low == 'z' || low == '0' || low == '1') return true;
  return hex && std::isxdigit(static_cast<unsigned char>(c));
}

/// Walks through a file as IEEE 1800, 21.4 has it, and stops the model at what is none.
class Words {
 public:
  Words(const ModelFile& file, bool hex, unsigned bits) : file_(file), hex_(hex), bits_(bits) {}

  /// The next word's address, counted on from `address` unless the file names another; false at its end.
  bool next(unsigned long long& address) {
    while (skip_blanks()) {
      if (peek() != '@') {
        word();
        return true;
      }
      at_++;
      address = address_value();
      addressed_ = true;
    }
    return false;
  }

  bool addressed() const { return addressed_; }

  [[noreturn]] void wrong(const std::string& what) const {
    stop_model(std::string(file_.name) + ", line " + std::to_string(line_) + ": " + what);
  }

 private:
  bool more() const { return at_ < file_.size; }
  char peek(size_t ahead = 0) const { return at_ + ahead < file_.size ? file_.bytes[at_ + ahead] : '\0'; }

  bool skip_blanks() {
    while (more()) {
      if (std::isspace(static_cast<unsigned char>(peek()))) {
        line_ += peek() == '\n';
        at_++;
      } else if (peek() == '/' && peek(1) == '/') {
        while (more() && peek() != '\n') at_++;
      } else if (peek() == '/' && peek(1) == '*') {
        at_ += 2;
        while (more() && !(peek() == '*' && peek(1) == '/')) {
          line_ += peek() == '\n';
          at_++;
        }
        if (!more()) wrong("a comment has no end");
        at_ += 2;
      } else {
        return true;
      }
    }
    return false;
  }

  std::string token() {
    const size_t begin = at_;
    while (more() && !std::isspace(static_cast<unsigned char>(peek())) && peek() != '/' && peek() != '@') at_++;
    return std::string(file_.bytes + begin, at_ - begin);
  }

  unsigned long long address_value() {
    const std::string text = token();
    unsigned long long value = 0;
    for (const char c : text) {
      if (c == '_') continue;
      if (!std::isxdigit(static_cast<unsigned char>(c))) wrong("\"@" + text + "\" is no address");
      value = value << 4 | digit_of(c);
    }
    if (text.empty()) wrong("\"@\" has no address");
    return value;
  }

  void word() {
    const std::string text = token();
    unsigned needed = 0;
    for (const char c : text) {
      if (c == '_') continue;
      if (!is_digit(c, hex_)) wrong("\"" + text + "\" is no " + (hex_ ? "hexadecimal" : "binary") + " number");
      const bool known = std::isxdigit(static_cast<unsigned char>(c));
      if (needed) {
        needed += hex_ ? 4 : 1;
      } else if (!known) {
        needed = 1;
      } else {
        for (unsigned value = digit_of(c); value; value >>= 1) needed++;
      }
    }
    if (text.empty()) wrong("there is no word");
    if (needed > bits_) wrong("\"" + text + "\" does not fit into " + std::to_string(bits_) + " bits");
  }

  const ModelFile& file_;
  const bool hex_;
  const unsigned bits_;
  size_t at_ = 0;
  unsigned long line_ = 1;
  bool addressed_ = false;
};

/// Stop the model unless a file fills the range first to last of a memory, or names addresses of it.
void check_words(const ModelFile& file, bool hex, unsigned bits, unsigned long long first, unsigned long long last) {
  Words words(file, hex, bits);
  unsigned long long address = first, count = 0;
  for (; words.next(address); address++, count++) {
    if (words.addressed() && (address < first || address > last)) {
      words.wrong("there is no address " + std::to_string(address) + ": the memory has " + std::to_string(first) + " to " +
                  std::to_string(last));
    }
  }
  if (words.addressed() ? count > 0 : count == last - first + 1) return;
  stop_model(std::string(file.name) + " holds " + std::to_string(count) + " words, and the memory that it is read into takes " +
             std::to_string(last - first + 1) + "; give them all, or name the addresses in the call: $readmem" +
             (hex ? "h" : "b") + "(FILE, MEMORY, FIRST, LAST)");
}

}  // namespace

ModelFiles::ModelFiles(const ModelFile* files, size_t count) {
  given_files = files;
  given_count = count;
}

void VL_READMEM_N(bool hex, int bits, QData depth, int array_lsb, const std::string& filename, void* memp, QData start,
                  QData end) VL_MT_SAFE {
  const unsigned long long low = static_cast<unsigned long long>(array_lsb);
  const unsigned long long first = start < low ? low : start;
  const unsigned long long last = end == ~0ULL ? low + depth - 1 : end;
  if (first > last || last > low + depth - 1) {
    stop_model("it reads \"" + filename + "\" into addresses " + std::to_string(first) + " to " + std::to_string(last) +
               " of a memory that has " + std::to_string(low) + " to " + std::to_string(low + depth - 1));
  }
  check_words(data_file(filename), hex, static_cast<unsigned>(bits), first, last);
  verilated_readmem(hex, bits, depth, array_lsb, filename, memp, start, end);
}

extern "C" __attribute__((visibility("hidden"))) FILE* fopen(const char* name, const char* mode) {
  if (mode[0] != 'r' || std::strchr(mode, '+')) {
    stop_model(std::string("it writes the file \"") + name + "\"; a module has no files but the data files of its .f list");
  }
  const ModelFile& file = data_file(name);
  return fmemopen(const_cast<char*>(file.bytes), file.size, "r");
}
