#pragma once

/// The door to lockstep::comm: groups of ranks and their collectives. No torch.
#include <lockstep/error.h>
#include <lockstep/group.h>
#include <lockstep/link.h>
#include <lockstep/pending.h>
#include <lockstep/prediction.h>
#include <lockstep/traffic.h>
#include <lockstep/types.h>
#include <lockstep/world.h>
