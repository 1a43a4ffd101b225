// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The dispatch table of `cl_khr_icd`: every entry point of OpenCL 1.2 at its place. The loader calls through it, also for
// later versions and for extensions, so what there is not refuses; Direct3D's places are empty outside Windows.
#include <string.h>

#include "eddy.h"

#define PUBLIC __attribute__((visibility("default")))

// Their types do not matter here.
void clBuildProgram(void);
void clCompileProgram(void);
void clCreateBuffer(void);
void clCreateCommandQueue(void);
void clCreateCommandQueueWithProperties(void);
void clCreateContext(void);
void clCreateContextFromType(void);
void clCreateImage(void);
void clCreateImage2D(void);
void clCreateImage3D(void);
void clCreateKernel(void);
void clCreateKernelsInProgram(void);
void clCreateProgramWithBinary(void);
void clCreateProgramWithBuiltInKernels(void);
void clCreateProgramWithSource(void);
void clCreateSampler(void);
void clCreateSubBuffer(void);
void clCreateSubDevices(void);
void clCreateUserEvent(void);
void clEnqueueBarrier(void);
void clEnqueueBarrierWithWaitList(void);
void clEnqueueCopyBuffer(void);
void clEnqueueCopyBufferRect(void);
void clEnqueueCopyBufferToImage(void);
void clEnqueueCopyImage(void);
void clEnqueueCopyImageToBuffer(void);
void clEnqueueFillBuffer(void);
void clEnqueueFillImage(void);
void clEnqueueMapBuffer(void);
void clEnqueueMapImage(void);
void clEnqueueMarker(void);
void clEnqueueMarkerWithWaitList(void);
void clEnqueueMigrateMemObjects(void);
void clEnqueueNDRangeKernel(void);
void clEnqueueNativeKernel(void);
void clEnqueueReadBuffer(void);
void clEnqueueReadBufferRect(void);
void clEnqueueReadImage(void);
void clEnqueueTask(void);
void clEnqueueUnmapMemObject(void);
void clEnqueueWaitForEvents(void);
void clEnqueueWriteBuffer(void);
void clEnqueueWriteBufferRect(void);
void clEnqueueWriteImage(void);
void clFinish(void);
void clFlush(void);
void clGetCommandQueueInfo(void);
void clGetContextInfo(void);
void clGetDeviceIDs(void);
void clGetDeviceInfo(void);
void clGetEventInfo(void);
void clGetEventProfilingInfo(void);
void clGetImageInfo(void);
void clGetKernelArgInfo(void);
void clGetKernelInfo(void);
void clGetKernelSubGroupInfoKHR(void);
void clGetKernelWorkGroupInfo(void);
void clGetMemObjectInfo(void);
void clGetPlatformIDs(void);
void clGetPlatformInfo(void);
void clGetProgramBuildInfo(void);
void clGetProgramInfo(void);
void clGetSamplerInfo(void);
void clGetSupportedImageFormats(void);
void clLinkProgram(void);
void clReleaseCommandQueue(void);
void clReleaseContext(void);
void clReleaseDevice(void);
void clReleaseEvent(void);
void clReleaseKernel(void);
void clReleaseMemObject(void);
void clReleaseProgram(void);
void clReleaseSampler(void);
void clRetainCommandQueue(void);
void clRetainContext(void);
void clRetainDevice(void);
void clRetainEvent(void);
void clRetainKernel(void);
void clRetainMemObject(void);
void clRetainProgram(void);
void clRetainSampler(void);
void clSetCommandQueueProperty(void);
void clSetEventCallback(void);
void clSetKernelArg(void);
void clSetMemObjectDestructorCallback(void);
void clSetUserEventStatus(void);
void clUnloadCompiler(void);
void clUnloadPlatformCompiler(void);
void clWaitForEvents(void);

PUBLIC cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *count);

/// What the loader asks for before it knows the table.
PUBLIC void *clGetExtensionFunctionAddress(const char *name) {
    if (name && !strcmp(name, "clIcdGetPlatformIDsKHR")) return (void *)clIcdGetPlatformIDsKHR;
    if (name && !strcmp(name, "clGetPlatformInfo")) return (void *)clGetPlatformInfo;
    if (name && !strcmp(name, "clGetKernelSubGroupInfoKHR")) return (void *)clGetKernelSubGroupInfoKHR;
    return NULL;
}

static void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    (void)platform;
    return clGetExtensionFunctionAddress(name);
}

static const char UNSUPPORTED[] = "an entry point of an extension or of a later version of OpenCL, which Eddy has not";

static cl_int refuse_call(void) {
    return refuse("an entry point", CL_INVALID_OPERATION, UNSUPPORTED);
}

static void *refuse_pointer(void) {
    say(UNSUPPORTED);
    return NULL;
}

static void ignore(void) {}

// Functions that return handles put their code where their last argument says.
#define REFUSE_AT(count, ...) \
    static void *refuse_##count(__VA_ARGS__, cl_int *errcode_ret) { \
        return refuse_null("an entry point", errcode_ret, CL_INVALID_OPERATION, UNSUPPORTED); \
    }
#pragma clang diagnostic ignored "-Wunused-parameter"
REFUSE_AT(2, void *a)
REFUSE_AT(3, void *a, void *b)
REFUSE_AT(4, void *a, void *b, void *c)
REFUSE_AT(6, void *a, void *b, void *c, void *d, void *e)
REFUSE_AT(7, void *a, void *b, void *c, void *d, void *e, void *f)

#pragma clang diagnostic ignored "-Wpedantic"
const void *const dispatch_table[] = {
    clGetPlatformIDs, clGetPlatformInfo, clGetDeviceIDs, clGetDeviceInfo, clCreateContext, clCreateContextFromType,
    clRetainContext, clReleaseContext, clGetContextInfo, clCreateCommandQueue, clRetainCommandQueue,
    clReleaseCommandQueue, clGetCommandQueueInfo, clSetCommandQueueProperty, clCreateBuffer, clCreateImage2D,
    clCreateImage3D, clRetainMemObject, clReleaseMemObject, clGetSupportedImageFormats, clGetMemObjectInfo,
    clGetImageInfo, clCreateSampler, clRetainSampler, clReleaseSampler, clGetSamplerInfo,
    clCreateProgramWithSource, clCreateProgramWithBinary, clRetainProgram, clReleaseProgram, clBuildProgram,
    clUnloadCompiler, clGetProgramInfo, clGetProgramBuildInfo, clCreateKernel, clCreateKernelsInProgram,
    clRetainKernel, clReleaseKernel, clSetKernelArg, clGetKernelInfo, clGetKernelWorkGroupInfo, clWaitForEvents,
    clGetEventInfo, clRetainEvent, clReleaseEvent, clGetEventProfilingInfo, clFlush, clFinish, clEnqueueReadBuffer,
    clEnqueueWriteBuffer, clEnqueueCopyBuffer, clEnqueueReadImage, clEnqueueWriteImage, clEnqueueCopyImage,
    clEnqueueCopyImageToBuffer, clEnqueueCopyBufferToImage, clEnqueueMapBuffer, clEnqueueMapImage,
    clEnqueueUnmapMemObject, clEnqueueNDRangeKernel, clEnqueueTask, clEnqueueNativeKernel, clEnqueueMarker,
    clEnqueueWaitForEvents, clEnqueueBarrier, clGetExtensionFunctionAddress, refuse_4, refuse_6, refuse_6,
    refuse_4, refuse_call, refuse_call, refuse_call, refuse_call, refuse_call, NULL, NULL, NULL, NULL, NULL, NULL,
    clSetEventCallback, clCreateSubBuffer, clSetMemObjectDestructorCallback, clCreateUserEvent,
    clSetUserEventStatus, clEnqueueReadBufferRect, clEnqueueWriteBufferRect, clEnqueueCopyBufferRect,
    clCreateSubDevices, clRetainDevice, clReleaseDevice, refuse_3, clCreateSubDevices, clRetainDevice,
    clReleaseDevice, clCreateImage, clCreateProgramWithBuiltInKernels, clCompileProgram, clLinkProgram,
    clUnloadPlatformCompiler, clGetKernelArgInfo, clEnqueueFillBuffer, clEnqueueFillImage,
    clEnqueueMigrateMemObjects, clEnqueueMarkerWithWaitList, clEnqueueBarrierWithWaitList,
    clGetExtensionFunctionAddressForPlatform, refuse_6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    refuse_6, refuse_call, refuse_call, refuse_4, clCreateCommandQueueWithProperties, refuse_6, refuse_call,
    refuse_pointer, ignore, refuse_call, refuse_call, refuse_call, refuse_call, refuse_call, refuse_3, refuse_call,
    refuse_call, refuse_call, refuse_2, refuse_4, refuse_call, refuse_call, refuse_call, refuse_call, refuse_call,
    refuse_call, refuse_call, refuse_6, refuse_7, refuse_call,
};
