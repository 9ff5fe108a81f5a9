#pragma once

/// The door to lockstep::train: data-parallel training of torch modules.
#include <lockstep/checkpoint.h>
#include <lockstep/comm.h>
#include <lockstep/data_parallel.h>
#include <lockstep/hooks.h>
#include <lockstep/invariant.h>
#include <lockstep/loader.h>
#include <lockstep/local_sgd.h>
#include <lockstep/metrics.h>
#include <lockstep/mirrored.h>
#include <lockstep/mixed_precision.h>
#include <lockstep/one_bit_adam.h>
#include <lockstep/optim.h>
#include <lockstep/padding.h>
#include <lockstep/safetensors.h>
#include <lockstep/sharded.h>
#include <lockstep/sync_batch_norm.h>
#include <lockstep/training_log.h>
#include <lockstep/uneven.h>
