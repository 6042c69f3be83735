package cuda

import (
	"errors"
	"fmt"
	"sync"

	"atenia/internal/machine/hw"
	"atenia/internal/machine/library"
)

// The names of the driver's libraries by system. A static build loads none.
var (
	driverLibraries = []string{"libcuda.so.1", "nvcuda.dll"}
	nvmlLibraries   = []string{"libnvidia-ml.so.1", "nvml.dll"}
)

// errOutOfMemory says that a device, or the host for pinned memory, is out of
// memory.
var errOutOfMemory = errors.New("out of memory")

// An callError is a failed call of a driver.
type callError struct {
	Call string // the C function
	Code int    // its result
}

func (e *callError) Error() string {
	if text := codes[e.Code]; text != "" {
		return fmt.Sprintf("%s: %s (code %d)", e.Call, text, e.Code)
	}
	return fmt.Sprintf("%s: code %d", e.Call, e.Code)
}

// Is ties the code to [errOutOfMemory].
func (e *callError) Is(target error) bool {
	return target == errOutOfMemory && e.Code == codeOutOfMemory
}

// The result codes that are handled, from cuda.h.
const (
	codeOutOfMemory = 2
	codeNoDevice    = 100
)

// codes explains common result codes of the driver, with remedies.
var codes = map[int]string{
	1:               "invalid value",
	codeOutOfMemory: "out of memory: another process uses the device, or the budget is too large",
	3:               "not initialized",
	codeNoDevice:    "no device",
	101:             "invalid device",
	201:             "invalid context",
	214:             "an uncorrectable memory error: the device must be reset",
	700:             "illegal address",
	719:             "the context is lost",
	802:             "the system is not ready: is the fabric manager running?",
	803:             "library and kernel module of the driver differ: restart the machine after an update",
	804:             "the driver is too old for the library",
	999:             "unknown error: is the kernel module loaded?",
}

// A table holds the resolved functions of one library, indexed by the constants
// below.
type table struct {
	names []string
	at    []uintptr

	mu    sync.Mutex
	calls *hw.Reliability // counts them; nil = nobody does
}

// load opens the first library that exists and resolves all functions.
func load(libraries, names []string) (*table, error) {
	lib, err := library.Open(libraries...)
	if err != nil {
		return nil, err
	}
	t := &table{names: names, at: make([]uintptr, len(names))}
	for i, n := range names {
		if t.at[i], err = lib.Symbol(n); err != nil {
			return nil, fmt.Errorf("the library has no %s: update the driver: %w", n, err)
		}
	}
	return t, nil
}

// do calls a function that returns a code, 0 for success.
//
//go:uintptrescapes
func (t *table) do(f int, args ...uintptr) error {
	code := int32(library.Call(t.at[f], args...))
	var err error
	if code != 0 {
		err = &callError{t.names[f], int(code)}
	}
	t.count(err)
	return err
}

// countFor lets calls be counted, until the next one; nil = they are not.
func (t *table) countFor(r *hw.Reliability) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = r
}

// count counts a call. A device that is full works.
func (t *table) count(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.calls == nil || errors.Is(err, errOutOfMemory):
	case err == nil:
		t.calls.OK++
	default:
		t.calls.Fail, t.calls.LastError = t.calls.Fail+1, err.Error()
	}
}

// The functions of the driver. The suffixes are the versions that cuda.h has
// selected for the plain names since 2010.
const (
	cuInit = iota
	cuDriverGetVersion
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDeviceGetPCIBusId
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemHostAlloc
	cuMemFreeHost
	cuMemcpyHtoD
	cuMemcpyDtoH
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuStreamCreate
	cuStreamSynchronize
	cuStreamDestroy
	cuEventCreate
	cuEventRecord
	cuEventSynchronize
	cuEventDestroy
)

var driverNames = []string{
	cuInit:                    "cuInit",
	cuDriverGetVersion:        "cuDriverGetVersion",
	cuDeviceGetCount:          "cuDeviceGetCount",
	cuDeviceGet:               "cuDeviceGet",
	cuDeviceGetName:           "cuDeviceGetName",
	cuDeviceTotalMem:          "cuDeviceTotalMem_v2",
	cuDeviceGetAttribute:      "cuDeviceGetAttribute",
	cuDeviceGetPCIBusId:       "cuDeviceGetPCIBusId",
	cuDevicePrimaryCtxRetain:  "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease_v2",
	cuCtxSetCurrent:           "cuCtxSetCurrent",
	cuMemGetInfo:              "cuMemGetInfo_v2",
	cuMemAlloc:                "cuMemAlloc_v2",
	cuMemFree:                 "cuMemFree_v2",
	cuMemHostAlloc:            "cuMemHostAlloc",
	cuMemFreeHost:             "cuMemFreeHost",
	cuMemcpyHtoD:              "cuMemcpyHtoD_v2",
	cuMemcpyDtoH:              "cuMemcpyDtoH_v2",
	cuMemcpyHtoDAsync:         "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:         "cuMemcpyDtoHAsync_v2",
	cuStreamCreate:            "cuStreamCreate",
	cuStreamSynchronize:       "cuStreamSynchronize",
	cuStreamDestroy:           "cuStreamDestroy_v2",
	cuEventCreate:             "cuEventCreate",
	cuEventRecord:             "cuEventRecord",
	cuEventSynchronize:        "cuEventSynchronize",
	cuEventDestroy:            "cuEventDestroy_v2",
}

// The functions of NVML.
const (
	nvmlInit = iota
	nvmlShutdown
	nvmlDriverVersion
	nvmlHandle
	nvmlMemory
	nvmlUtilization
	nvmlTemperature
	nvmlLinkGen
	nvmlLinkWidth
	nvmlLinkMaxGen
	nvmlLinkMaxWidth
)

var nvmlNames = []string{
	nvmlInit:          "nvmlInit_v2",
	nvmlShutdown:      "nvmlShutdown",
	nvmlDriverVersion: "nvmlSystemGetDriverVersion",
	nvmlHandle:        "nvmlDeviceGetHandleByPciBusId_v2",
	nvmlMemory:        "nvmlDeviceGetMemoryInfo",
	nvmlUtilization:   "nvmlDeviceGetUtilizationRates",
	nvmlTemperature:   "nvmlDeviceGetTemperature",
	nvmlLinkGen:       "nvmlDeviceGetCurrPcieLinkGeneration",
	nvmlLinkWidth:     "nvmlDeviceGetCurrPcieLinkWidth",
	nvmlLinkMaxGen:    "nvmlDeviceGetMaxPcieLinkGeneration",
	nvmlLinkMaxWidth:  "nvmlDeviceGetMaxPcieLinkWidth",
}
