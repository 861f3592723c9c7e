#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "openenv/catalog.h"
#include "openenv/episode.h"
#include "openenv/settings.h"

namespace assay::openenv {

/// A reset, read and checked. The task is not looked up yet.
struct ResetRequest {
  TaskChoice choice;
  EpisodeConfig config;  ///< without task_id, suite
  std::string resume;    ///< token of an episode to go on with; the rest does not matter then
  bool has_seed = false;
  std::vector<std::string> ignored;  ///< members that mean nothing here
  json::array errors;                ///< empty: good
};

/// Members: task_id (or problem_id), suite, split, level, index, seed, episode_id, max_turns,
/// reward_mode (a mode, or an emission), reward_parameters, emit, stop_on, timing, detail,
/// backend_hint, resume, baseline, judging (an object of what ReadModes() reads); all also within
/// `options`. Others are ignored, because trainers pass rows of their data sets; they are reported
/// so that a typo can be found. Null is absent. What is read is small, however large `data` is: it
/// may be kept while a session is waited for.
ResetRequest ParseReset(const json::object& data, const Settings& settings);

}  // namespace assay::openenv
