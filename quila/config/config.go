package config

// A Config is every constant of a network. The zero value is not a network:
// start from [Profile].
//
// The tag q has the group, the source (spec, measured or start) and the range: an
// interval, or the words of a choice with bars between. The keys of the groups
// shape and options are always written, others where they differ from the
// profile.
type Config struct {
	// Shape.

	Name       string `json:"name" q:"shape spec"`             // profile it started from
	N          int    `json:"N" q:"shape spec [1,1048576]"`    // neurons
	D          int    `json:"D" q:"shape spec [1,4096]"`       // hidden dimensions
	H          int    `json:"H" q:"shape spec [1,256]"`        // side of a message
	A          int    `json:"a" q:"shape spec [1,256]"`        // side of a seed map
	S          int    `json:"s" q:"shape spec [1,256]"`        // stride from seed to message, H ÷ a
	Kappa      int    `json:"kappa" q:"shape spec [1,256]"`    // side of an edge's kernel
	R          int    `json:"r" q:"shape spec [0,1024]"`       // Kronecker terms of W_in; 0 is a dense matrix
	D1         int    `json:"d1" q:"shape spec [1,4096]"`      // rows of a left factor, D1·D2 = D
	D2         int    `json:"d2" q:"shape spec [1,4096]"`      // rows of a right factor
	Deg        int    `json:"deg" q:"shape spec [0,65535]"`    // edges that a neuron starts with
	Thinkers   int    `json:"N_T" q:"shape spec [1,64]"`       // Thinker ports; fixed for the life of a model
	KP         int    `json:"k_p" q:"shape spec [1,4096]"`     // neurons that a port attends to
	V          int    `json:"V" q:"shape spec [1,16777216]"`   // codes of a codebook
	Modalities int    `json:"modalities" q:"shape spec [1,4]"` // codebooks: text, image, audio, video
	DE         int    `json:"D_e" q:"shape spec [1,4096]"`     // dimensions of a code's embedding
	NS         int    `json:"N_s" q:"shape spec [1,256]"`      // state-space states per dimension
	K          int    `json:"K" q:"shape spec [1,64]"`         // ticks per token
	G          int    `json:"g" q:"shape spec [1,4096]"`       // dimensions in a group of the micro attention

	// Options.

	SSM        string  `json:"ssm" q:"options measured recurrent|window"`         // stream B: state carried, or nine steps over the frames
	Aggr       string  `json:"aggr" q:"options measured linear|sigmoid"`          // outer form of a port's scan
	WKV        string  `json:"wkv" q:"options measured literal|rwkv4|tanh"`       // form of stream C
	NormIn     bool    `json:"norm_in" q:"options measured"`                      // RMS norm after step 1
	RhoOn      bool    `json:"rho_on" q:"options measured"`                       // residual after W_in
	DRCMax     int     `json:"drc_max" q:"options measured [1,16]"`               // cap on the iterations of stream D
	Refractory bool    `json:"refractory" q:"options spec"`                       // refractory counters
	MHCGrad    string  `json:"mhc_grad" q:"options measured centred|plain|exact"` // gradient through Sinkhorn's iterations
	KFEClip    bool    `json:"kfe_clip" q:"options measured"`                     // norm of what recall adds is at most that of h_mid
	KFEGain    float64 `json:"kfe_gain" q:"options spec [0,16]"`                  // factor of what recall adds
	WMax       float64 `json:"w_max" q:"options measured (0,8]"`                  // bound of Sinkhorn logits
	SinkhornN  int     `json:"sinkhorn_n" q:"options spec [1,200]"`               // Sinkhorn rounds
	KMax       float64 `json:"k_max" q:"options measured [0,60]"`                 // bound of the keys of stream C
	RefBase    float64 `json:"ref_base" q:"options spec [0,255]"`                 // refractory ticks at confidence 0
	RefRange   float64 `json:"ref_range" q:"options spec [0,255]"`                // by how many less at confidence 1
	RopeDims   int     `json:"rope_dims" q:"options measured [-1,4096]"`          // leading dimensions of a text embedding that RoPE turns; -1 all
	Tau        float64 `json:"tau" q:"options measured (0,1000]"`                 // temperature of the read-out
	MHCInit    float64 `json:"mhc_init" q:"options measured [0,8]"`               // logits of a port's streams start at ± this
	CM         string  `json:"cm" q:"options measured song|residual|off"`         // consistency model: distilled, before that, none
	Streams    string  `json:"streams" q:"options spec"`                          // which of A, B, C, D run

	// Options that came later.

	CodeBias    bool   `json:"code_bias" q:"more measured"`                     // a trained bias per code
	WMQRead     bool   `json:"wmq_read" q:"more measured"`                      // Thinkers read their queue
	FP8         bool   `json:"fp8" q:"more spec"`                               // messages are rounded to E4M3
	Uncertainty bool   `json:"uncertainty" q:"more spec"`                       // last row of a message carries uncertainty
	PartialSend bool   `json:"partial_send" q:"more spec"`                      // an edge may send one tile
	Stagger     bool   `json:"stagger" q:"more measured"`                       // refractory counters start at id mod (ref_base+1)
	MHC         string `json:"mhc" q:"more spec sinkhorn|sum"`                  // streams of step 5 mixed, or added, to measure what mixing is worth
	Credit      string `json:"credit" q:"more measured characteristic|literal"` // rule of rewards
	ParamDType  string `json:"param_dtype" q:"more start f32|f16"`              // weights in a file
	Numerics    string `json:"numerics" q:"more spec fp32|fp16"`                // operands as they are, or rounded to half precision

	// Grid.

	ActiveCap            float64 `json:"active_cap" q:"grid spec (0,1]"`
	WaitMax              int     `json:"wait_max" q:"grid start [0,1024]"`
	RefractoryResend     bool    `json:"refractory_resend" q:"grid start"`
	PairwiseMean         bool    `json:"pairwise_mean" q:"grid start"`
	PartialSendThreshold float64 `json:"partial_send_threshold" q:"grid start [0,1]"`
	ThermalScale         float64 `json:"thermal_scale" q:"grid start [0,10]"`
	FXAARaw              float64 `json:"alpha_fxaa" q:"grid start [-50,50]"`
	RhoRaw               float64 `json:"rho_raw" q:"grid measured [-50,50]"`
	UtilityEMA           float64 `json:"utility_ema" q:"grid start [0,1]"`
	ConfT                float64 `json:"conf_t" q:"grid start (0,100]"`
	InitConf             float64 `json:"init_conf" q:"grid start [0,1]"`
	NSAK                 int     `json:"nsa_k" q:"grid start [0,4096]"` // dimensions that stream A selects; 0 is D ÷ 2

	// Library of key-frame entries.

	KFETopK        int     `json:"kfe_top_k" q:"kfe spec [1,4096]"`
	KFEMerge       float64 `json:"kfe_merge" q:"kfe spec [0,1]"`
	KFEAlpha       float64 `json:"kfe_alpha" q:"kfe start [0,1]"`
	KFEBeta        float64 `json:"kfe_beta" q:"kfe start [0,1]"`
	KFEGamma       float64 `json:"kfe_gamma" q:"kfe start [0,1]"`
	LRKFE          float64 `json:"lr_kfe" q:"kfe start [0,1]"`
	LRKFEReplay    float64 `json:"lr_kfe_replay" q:"kfe start [0,1]"`
	KFEIdle        int     `json:"kfe_idle" q:"kfe spec [1,1000000]"` // turns
	KFEPage        int     `json:"kfe_page" q:"kfe start [1,65536]"`  // entries
	HNSWM          int     `json:"hnsw_m" q:"kfe spec [2,256]"`
	HNSWEFC        int     `json:"hnsw_ef_c" q:"kfe spec [2,65536]"`
	HNSWEF         int     `json:"hnsw_ef" q:"kfe spec [1,65536]"`
	HNSWExactBelow int     `json:"hnsw_exact_below" q:"kfe measured [0,16777216]"`
	HNSWCompact    float64 `json:"hnsw_compact" q:"kfe start (0,1]"`

	// Eviction.

	EvictW             [4]float64 `json:"evict_w" q:"eviction spec [0,1]"` // utility, recency, confidence, weight at the last scan
	LambdaRecency      float64    `json:"lambda_recency" q:"eviction spec [0,1]"`
	SoftDeleteBelow    float64    `json:"soft_delete_threshold" q:"eviction start [0,1]"`
	PromotionThreshold int        `json:"promotion_threshold" q:"eviction start [0,65536]"` // hits
	PromotionWindow    int        `json:"promotion_window" q:"eviction start [1,65536]"`    // turns
	EvictLR            float64    `json:"eta_w" q:"eviction start [0,1]"`
	EvictMemory        int        `json:"evict_memory" q:"eviction start [1,65536]"` // turns

	// Ports.

	AlignTau         float64 `json:"align_tau" q:"ports start [0,1000000]"`         // 0 is √D
	TauContradiction float64 `json:"tau_contradiction" q:"ports start [0,1000000]"` // 0 is 1.5·√D
	BRaw             float64 `json:"b_raw" q:"ports start [-50,50]"`
	DeltaAlpha       float64 `json:"delta_alpha" q:"ports start [-1,1]"`
	TrainPorts       string  `json:"train_ports" q:"ports measured all|thinkers"` // stream training gives Planner and Analyses no task; thinkers leaves them out

	// Consistency model.

	CMSecond   float64 `json:"cm_second" q:"cm spec [0,1]"` // below this confidence a second step
	CMNoise    float64 `json:"cm_noise" q:"cm spec [0,1]"`  // variance
	CMSigmaMax float64 `json:"cm_sigma_max" q:"cm start (0,80]"`
	CMEMALow   float64 `json:"cm_ema_low" q:"cm start [0,1]"`
	CMEMAHigh  float64 `json:"cm_ema_high" q:"cm start [0,1]"`
	CMPoints   int     `json:"cm_points" q:"cm start [2,1024]"`

	// Phases.

	Block          int     `json:"block" q:"phases start [1,65536]"` // codes
	ThetaLow       float64 `json:"theta_low" q:"phases spec [-1,1]"`
	ThetaHigh      float64 `json:"theta_high" q:"phases spec [-1,1]"`
	ThetaLowReread float64 `json:"theta_lo_reread" q:"phases start [-1,1]"`
	ThetaHiReread  float64 `json:"theta_hi_reread" q:"phases start [-1,1]"`
	Candidates     int     `json:"candidates" q:"phases start [1,1048576]"`
	ComplexityOne  float64 `json:"complexity_one" q:"phases start [0,1]"`
	ComplexityTwo  float64 `json:"complexity_two" q:"phases start [0,1]"`

	// Working-memory queue and stages.

	WMQHot         int     `json:"wmq_hot" q:"wmq spec [1,1048576]"`
	WMQCold        int     `json:"wmq_cold" q:"wmq spec [0,1048576]"`
	WMEnqueue      float64 `json:"wm_enqueue_threshold" q:"wmq start [-1,1]"`
	UtilityDealloc float64 `json:"utility_dealloc_threshold" q:"wmq start [0,1000]"` // × the grid's mean
	WMQTopK        int     `json:"wmq_top_k" q:"wmq start [1,1024]"`
	WMQWindow      int     `json:"wmq_window" q:"wmq measured [1,4096]"` // entries that training reads
	StageDrop      float64 `json:"stage_drop_threshold" q:"wmq start [0,1]"`
	MaxStepsStage  int     `json:"max_steps_per_stage" q:"wmq start [1,1048576]"`
	MaxTimeStage   float64 `json:"max_time_per_stage" q:"wmq start (0,86400]"` // seconds
	RelevanceEMA   float64 `json:"relevance_ema" q:"wmq start [0,1]"`

	// Fork, uncertainty, replan.

	UFork        float64 `json:"u_fork" q:"think start [0,1]"`
	UTool        float64 `json:"u_tool" q:"think start [0,1]"`
	UReplan      float64 `json:"u_replan" q:"think start [0,1]"`
	ForkSteps    int     `json:"fork_steps" q:"think start [1,65536]"`
	ForkGrid     bool    `json:"fork_grid" q:"think start"`
	PollInterval int     `json:"poll_interval" q:"think start [1,65536]"` // steps
	ThetaEntropy float64 `json:"theta_entropy" q:"think start [0,100]"`   // σ above the mean
	ThetaDrift   float64 `json:"theta_drift" q:"think start [-1,1]"`
	Ring         int     `json:"ring" q:"think start [1,65536]"`

	// Conflict.

	Penalty    float64 `json:"penalty" q:"conflict spec [0,1]"`
	Recovery   float64 `json:"recovery" q:"conflict start [0,1]"`
	ExitTicks  int     `json:"exit_ticks" q:"conflict start [1,65536]"`
	RuleInsert float64 `json:"rule_insert" q:"conflict start [0,1]"`
	RuleDead   float64 `json:"confidence_dead_threshold" q:"conflict start [0,1]"`
	BoostTicks int     `json:"boost_ticks" q:"conflict start [0,65536]"`

	// Trace.

	LambdaMin     float64 `json:"lambda_min" q:"trace spec [0,1)"`
	LambdaMax     float64 `json:"lambda_max" q:"trace spec [0,1)"`
	LambdaInit    float64 `json:"lambda_init" q:"trace start [0,1)"`
	EtaLambda     float64 `json:"eta_lambda" q:"trace start [0,1]"`
	WOsc          int     `json:"w_osc" q:"trace start [2,4096]"`
	Damping       float64 `json:"damping" q:"trace start [0,1]"`
	DampingWindow int     `json:"damping_window" q:"trace start [1,65536]"`

	// Topology.

	Growth         float64 `json:"growth_threshold" q:"topology start [0,1000]"`
	MaxNewEdges    float64 `json:"max_new_edges" q:"topology start [0,1]"` // × edges, per batch
	InDegreeCap    float64 `json:"in_degree_cap" q:"topology start [1,1000]"`
	Prune          float64 `json:"prune_threshold" q:"topology start [0,1]"`
	PruneWindow    int     `json:"prune_window" q:"topology start [1,65536]"` // batches
	ClusterBonus   float64 `json:"clustering_utility_bonus" q:"topology start [0,100]"`
	TargetCoverage float64 `json:"target_coverage" q:"topology start [0,1]"`
	Diversity      float64 `json:"lambda_diversity" q:"topology start [0,100]"`
	LouvainRerun   float64 `json:"louvain_rerun" q:"topology spec [0,1]"`

	// Rewards.

	RewardBase       float64 `json:"reward_base" q:"rewards start [-100,100]"`
	TokenExcess      float64 `json:"token_excess" q:"rewards start [0,100]"`
	Halluc           float64 `json:"halluc" q:"rewards start [0,100]"`
	ReplanCost       float64 `json:"replan_cost" q:"rewards start [0,100]"`
	SuccessTarget    float64 `json:"success_target" q:"rewards spec [0,1]"`
	ExternalFrom     float64 `json:"external_from" q:"rewards spec [0,1]"`
	ExternalTo       float64 `json:"external_to" q:"rewards spec [0,1]"`
	ExternalEpisodes int     `json:"external_episodes" q:"rewards start [1,1000000000]"`
	SuccessRaise     float64 `json:"success_raise" q:"rewards spec [0,1]"`
	Regression       float64 `json:"regression_threshold" q:"rewards start [0,1]"`

	// Codebooks, positions, look-up memory, persona.

	Commitment  float64 `json:"commitment" q:"vq start [0,100]"`
	VQEMA       float64 `json:"vq_ema" q:"vq start [0,1)"`
	DeadBatches int     `json:"dead_batches" q:"vq start [1,1000000]"`
	BaseText    float64 `json:"base_text" q:"rope spec (1,1000000000]"`
	BaseTime    float64 `json:"base_time" q:"rope start (1,1000000000]"`
	BaseRow     float64 `json:"base_row" q:"rope start (1,1000000000]"`
	BaseCol     float64 `json:"base_col" q:"rope start (1,1000000000]"`
	BaseFreq    float64 `json:"base_freq" q:"rope start (1,1000000000]"`
	EngramBits  int     `json:"engram_bits" q:"engram start [1,32]"` // log2 of the rows
	PersonaDim  int     `json:"persona_dim" q:"persona start [1,65536]"`
	PersonaGate float64 `json:"persona_gate" q:"persona start [-50,50]"`
}

// DT is the rank of the state-space time step, ⌈D/16⌉.
func (c *Config) DT() int { return (c.D + 15) / 16 }

// WOutLen is how many weights an edge's W_out has: D, or a² if that is more.
func (c *Config) WOutLen() int { return max(c.D, c.A*c.A) }

// PortStreams is how many streams a port's intercept has: aggr, out_NSA and the
// neurons it selected.
func (c *Config) PortStreams() int { return c.KP + 2 }

// wideStreams is how long the concatenated streams of an intercept may be to be
// compressed whole; longer ones are compressed as row 0, row 1 and the mean of
// the rest.
const wideStreams = 8192

// CompressIn is how many values a port's compression reads.
func (c *Config) CompressIn() int {
	if n := c.PortStreams() * c.D; n <= wideStreams {
		return n
	}
	return 3 * c.D
}

// MicroK is how many dimensions stream A selects outside phase 2.
func (c *Config) MicroK() int {
	if c.NSAK > 0 {
		return min(c.NSAK, c.D)
	}
	return c.D / 2
}

// Ports are the names of the ports with attention: the Planner, the Thinkers,
// then the Analyses.
func (c *Config) Ports() []string {
	names := []string{"planner"}
	for _, kind := range []string{"thinker", "analysis"} {
		for i := range c.Thinkers {
			names = append(names, portName(kind, i))
		}
	}
	return names
}
