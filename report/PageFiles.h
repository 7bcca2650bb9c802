//===- PageFiles.h - the files of page/ -----------------------------------===//

#ifndef ZEROGRAPH_REPORT_PAGEFILES_H
#define ZEROGRAPH_REPORT_PAGEFILES_H

#include "runtime/base/EmbeddedFile.h"

#include <vector>

namespace zerograph::report {

/// Returns the page's HTML, style and scripts, in the order of their names.
const std::vector<EmbeddedFile> &pageFiles();

} // namespace zerograph::report

#endif // ZEROGRAPH_REPORT_PAGEFILES_H
