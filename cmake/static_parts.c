// What the archives of NPGPU_STATIC ask for, and what a program that is carried to other machines cannot have from
// them.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// libstdc++'s std::random_device takes this from the C library where that has it, from version 2.36 on. It is the only
// thing in the program that asks for more than 2.34, which is what Red Hat Enterprise Linux 9 has.
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t drawn;
  if (getentropy(&drawn, sizeof drawn) != 0) abort();
  return drawn;
}

// libudev has no archive. hwloc asks it who made a disk, which npgpu never asks hwloc; without udev, as here, it reads
// /run/udev itself.
struct udev;
struct udev_device;
struct udev* udev_new(void);
struct udev* udev_unref(struct udev* udev);
struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* udev, const char* subsystem, const char* name);
struct udev_device* udev_device_unref(struct udev_device* device);
const char* udev_device_get_property_value(struct udev_device* device, const char* key);

struct udev* udev_new(void) {
  return NULL;
}

struct udev* udev_unref(struct udev* udev) {
  (void)udev;
  return NULL;
}

struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* udev, const char* subsystem, const char* name) {
  (void)udev, (void)subsystem, (void)name;
  return NULL;
}

struct udev_device* udev_device_unref(struct udev_device* device) {
  (void)device;
  return NULL;
}

const char* udev_device_get_property_value(struct udev_device* device, const char* key) {
  (void)device, (void)key;
  return NULL;
}
