# A layer is a folder under src/: an object library with the folder's sources, joined into lockstep_comm or lockstep_train.
#
#   lockstep_layer(NAME schedule OF comm SOURCES schedule.cpp ... LIBRARIES fmt::fmt)
#
# Includes are written from src/ ("schedule/proof.h"); tests/style checks that they point down only.
function(lockstep_layer)
  cmake_parse_arguments(PARSE_ARGV 0 layer "" "NAME;OF" "SOURCES;LIBRARIES")
  add_library(lockstep_${layer_NAME} OBJECT ${layer_SOURCES})
  target_include_directories(
    lockstep_${layer_NAME} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(lockstep_${layer_NAME} PRIVATE lockstep_flags PUBLIC ${layer_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LAYERS_OF_${layer_OF} lockstep_${layer_NAME})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES_OF_${layer_OF} ${layer_LIBRARIES})
endfunction()

# Joins the layers said to be OF `which` into one library, lockstep_<which>, known as lockstep::<which>.
#
# What the layers link is linked here too, where it is more than headers (LockstepDependencies.cmake says so); once installed it
# goes by its plain name, so that a project that uses ours needs to find no package of theirs.
function(lockstep_library which)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "" "PUBLIC;PRIVATE")
  get_property(layers GLOBAL PROPERTY LOCKSTEP_LAYERS_OF_${which})
  get_property(libraries GLOBAL PROPERTY LOCKSTEP_LIBRARIES_OF_${which})
  set(objects "")
  foreach(layer IN LISTS layers)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set(binaries "")
  list(REMOVE_DUPLICATES libraries)
  foreach(dependency IN LISTS libraries)
    if(TARGET ${dependency})
      get_target_property(name ${dependency} LOCKSTEP_INSTALLED_AS)
      if(name)
        list(APPEND library_PRIVATE $<BUILD_INTERFACE:${dependency}> $<INSTALL_INTERFACE:${name}>)
        list(APPEND binaries ${name})
      endif()
    endif()
  endforeach()
  add_library(lockstep_${which} ${objects})
  add_library(lockstep::${which} ALIAS lockstep_${which})
  set_target_properties(lockstep_${which} PROPERTIES EXPORT_NAME ${which} LINKER_LANGUAGE CXX
                                                     LOCKSTEP_BINARIES "${binaries}")
  target_include_directories(
    lockstep_${which} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(lockstep_${which} PUBLIC cxx_std_17)
  target_link_libraries(lockstep_${which} PUBLIC ${library_PUBLIC} PRIVATE ${library_PRIVATE})
endfunction()

# The public headers that lockstep_train serves, by name; lockstep_comm serves all others.
set(LOCKSTEP_TRAIN_HEADERS
    batch_iterator
    checkpoint
    data_parallel
    hooks
    invariant
    loader
    local_sgd
    metrics
    mirrored
    mixed_precision
    one_bit_adam
    optim
    padding
    safetensors
    sharded
    sync_batch_norm
    train
    training_log
    uneven
    wrapped)
