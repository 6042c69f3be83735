package hw

// A Backend is the interface through which a device is used.
type Backend string

// The backends.
const (
	BackendCPU     Backend = "Cpu"
	BackendCUDA    Backend = "Cuda"
	BackendROCm    Backend = "Rocm"
	BackendMetal   Backend = "Metal"
	BackendOneAPI  Backend = "OneApi"
	BackendVulkan  Backend = "Vulkan"
	BackendUnknown Backend = "Unknown"
)

// A CPU describes the processor. Here and below, a nil field is unknown, not
// zero.
type CPU struct {
	PhysicalCores *uint32  `json:"physical_cores,omitempty"`
	LogicalCores  *uint32  `json:"logical_cores,omitempty"`
	SIMD          []string `json:"simd,omitempty"`
}

// A GPU describes one device.
type GPU struct {
	ID             string   `json:"id"`
	Backend        Backend  `json:"backend"`
	VRAMTotalBytes *uint64  `json:"vram_total_bytes,omitempty"`
	VRAMFreeBytes  *uint64  `json:"vram_free_bytes,omitempty"`
	BandwidthGBps  *float32 `json:"bandwidth_gbps_est,omitempty"`
	ComputeScore   *float32 `json:"compute_score_est,omitempty"`
}

// RAM is the memory of the host, within the limits of this process.
type RAM struct {
	TotalBytes *uint64 `json:"total,omitempty"`
	FreeBytes  *uint64 `json:"free,omitempty"`
}

// An SSD describes the storage below a cache directory.
type SSD struct {
	CacheDir  string   `json:"cache_dir"`
	ReadMBps  *float32 `json:"read_mb_s_est,omitempty"`
	WriteMBps *float32 `json:"write_mb_s_est,omitempty"`
	LatencyMS *float32 `json:"latency_ms_est,omitempty"`
}

// Reliability counts the successes and failures of a device.
type Reliability struct {
	OK               uint64  `json:"ok_count"`
	Fail             uint64  `json:"fail_count"`
	LastError        string  `json:"last_error,omitempty"`
	LastErrorEpochMS *uint64 `json:"last_error_epoch_ms,omitempty"`
}

// Pressure is how full each memory is, from 0 to 1; nil is unknown.
type Pressure struct {
	RAM  *float32 `json:"ram,omitempty"`
	VRAM *float32 `json:"vram,omitempty"`
}

// A Snapshot is the state of the machine at one moment. In its zero value
// everything is unknown.
type Snapshot struct {
	TimestampEpochMS uint64                 `json:"timestamp_epoch_ms"`
	CPU              CPU                    `json:"cpu"`
	GPUs             []GPU                  `json:"gpus,omitempty"`
	RAM              RAM                    `json:"ram"`
	SSD              SSD                    `json:"ssd"`
	Reliability      map[string]Reliability `json:"reliability_by_device,omitempty"` // by device id
	Pressure         Pressure               `json:"pressure"`
}
