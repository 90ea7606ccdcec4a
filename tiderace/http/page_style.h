// The look that the built-in pages have in common: one small style sheet, light and dark, no
// requests.
//
// It stands inside the page, whose Content-Security-Policy lets nothing else load or run.
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace::http {

inline constexpr ByteView page_style = R"(
:root{color-scheme:light dark;--ink:#16242b;--soft:#5b6f78;--paper:#fbfcfc;--line:#dfe7ea;
--tide:#0b7285;--wash:#eef5f6}
@media(prefers-color-scheme:dark){:root{--ink:#e4edf0;--soft:#93a7b0;--paper:#10181c;--line:#26343b;
--tide:#5cc8d7;--wash:#17242a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
a{color:var(--tide);text-decoration:none}a:hover{text-decoration:underline}
a:focus-visible,input:focus-visible{outline:2px solid var(--tide);outline-offset:2px}
)";

}  // namespace tiderace::http
