// The bridge between NumPy or torch memory and src/rl: argument conversion and nothing else. The
// documented interface is the Python package around it.
#include "bridge.h"

NB_MODULE(_core, m) {
  m.doc() = "Bridge to Assay's C++ library of RL methods; use the functions of assay.rl.";
  assay::python::BindAdvantages(m);
  assay::python::BindMismatch(m);
  assay::python::BindLosses(m);
  assay::python::BindSelection(m);
  assay::python::BindStatistics(m);
  assay::python::BindReports(m);
}
