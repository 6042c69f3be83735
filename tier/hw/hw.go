package hw

// A Backend is the kind of interface a device is used through.
type Backend string

// The backends a snapshot can name.
const (
	BackendCPU     Backend = "Cpu"
	BackendCUDA    Backend = "Cuda"
	BackendROCm    Backend = "Rocm"
	BackendMetal   Backend = "Metal"
	BackendOneAPI  Backend = "OneApi"
	BackendVulkan  Backend = "Vulkan"
	BackendUnknown Backend = "Unknown"
)

// A CPU is what is known of the processor. Absent is not zero, here and below.
type CPU struct {
	PhysicalCores *uint32  `json:"physical_cores,omitempty"`
	LogicalCores  *uint32  `json:"logical_cores,omitempty"`
	SIMD          []string `json:"simd,omitempty"`
}

// A GPU is one device.
type GPU struct {
	ID             string   `json:"id"`
	Backend        Backend  `json:"backend"`
	VRAMTotalBytes *uint64  `json:"vram_total_bytes,omitempty"`
	VRAMFreeBytes  *uint64  `json:"vram_free_bytes,omitempty"`
	BandwidthGBps  *float32 `json:"bandwidth_gbps_est,omitempty"`
	ComputeScore   *float32 `json:"compute_score_est,omitempty"`
}

// RAM is the memory of the host, within the limits put on this process.
type RAM struct {
	TotalBytes *uint64 `json:"total,omitempty"`
	FreeBytes  *uint64 `json:"free,omitempty"`
}

// An SSD is the store below a cache folder.
type SSD struct {
	CacheDir  string   `json:"cache_dir"`
	ReadMBps  *float32 `json:"read_mb_s_est,omitempty"`
	WriteMBps *float32 `json:"write_mb_s_est,omitempty"`
	LatencyMS *float32 `json:"latency_ms_est,omitempty"`
}

// Reliability counts how a device has behaved.
type Reliability struct {
	OK               uint64  `json:"ok_count"`
	Fail             uint64  `json:"fail_count"`
	LastError        string  `json:"last_error,omitempty"`
	LastErrorEpochMS *uint64 `json:"last_error_epoch_ms,omitempty"`
}

// Pressure is how full memories are, from 0 to 1; nil is unknown.
type Pressure struct {
	RAM  *float32 `json:"ram,omitempty"`
	VRAM *float32 `json:"vram,omitempty"`
}

// A Snapshot is the machine at one moment. Its zero value is a machine of
// which nothing is known.
type Snapshot struct {
	TimestampEpochMS uint64                 `json:"timestamp_epoch_ms"`
	CPU              CPU                    `json:"cpu"`
	GPUs             []GPU                  `json:"gpus,omitempty"`
	RAM              RAM                    `json:"ram"`
	SSD              SSD                    `json:"ssd"`
	Reliability      map[string]Reliability `json:"reliability_by_device,omitempty"` // by id of the device
	Pressure         Pressure               `json:"pressure"`
}
