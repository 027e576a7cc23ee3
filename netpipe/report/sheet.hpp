// A report that is written once, for a terminal and as GitHub reads it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "netpipe/report/layout.hpp"

namespace npgpu {

class Sheet {
 public:
  using IsAlarm = std::function<bool(std::size_t)>;  // of a row
  virtual ~Sheet() = default;
  virtual void heading(std::string_view what) = 0;
  virtual void labelled(std::string_view name, std::string_view what, bool alarm = false) = 0;
  virtual void verdict(std::string_view what, bool alarm) = 0;
  virtual void note(std::string_view what) = 0;
  virtual void table(Table&, const IsAlarm& is_alarm = {}) = 0;
};

class TextSheet final : public Sheet {
 public:
  explicit TextSheet(const TextStyle& style) : page(style) {}
  void heading(std::string_view what) override;
  void labelled(std::string_view name, std::string_view what, bool alarm) override;
  void verdict(std::string_view what, bool alarm) override;
  void note(std::string_view what) override;
  void table(Table&, const IsAlarm&) override;

  Page page;
};

class MarkdownSheet final : public Sheet {
 public:
  void heading(std::string_view what) override;
  void labelled(std::string_view name, std::string_view what, bool alarm) override;
  void verdict(std::string_view what, bool alarm) override;
  void note(std::string_view what) override;
  void table(Table&, const IsAlarm&) override;

  std::string text;

 private:
  bool in_list_ = false;
  void leave_list();
};

}  // namespace npgpu
