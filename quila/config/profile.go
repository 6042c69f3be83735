package config

import (
	"fmt"
	"strconv"
	"strings"
)

func portName(kind string, i int) string { return kind + "." + strconv.Itoa(i) }

// Profiles are the names that [Profile] knows.
func Profiles() []string { return []string{"nano", "micro", "small", "13b"} }

// Profile returns a named configuration. 13b is the system profile of the
// specification; nano, which learns on two processor cores, is dense: every
// neuron fires at every tick.
func Profile(name string) (Config, error) {
	c := common()
	c.Name = name
	switch strings.TrimPrefix(name, "quila-") {
	case "nano":
		c.N, c.H, c.S, c.Kappa, c.Deg, c.Thinkers, c.KP, c.V, c.Modalities, c.K = 8, 16, 2, 2, 3, 1, 8, 264, 1, 1
		c.SSM, c.Aggr, c.RhoOn, c.DRCMax, c.Refractory, c.CM = "recurrent", "linear", false, 2, false, "residual"
		c.ActiveCap, c.ParamDType, c.EngramBits = 1, "f32", 16
	case "micro":
		c.N, c.Deg, c.KP, c.V, c.EngramBits = 64, 8, 16, 512, 18
	case "small":
		c.N, c.Deg, c.KP, c.V, c.EngramBits = 1024, 16, 32, 4096, 20
	case "13b":
		c.N, c.D, c.H, c.A, c.S, c.Kappa, c.R, c.D1, c.D2, c.Deg = 32768, 128, 256, 32, 8, 8, 24, 8, 16, 100
		c.Thinkers, c.KP, c.V, c.DE, c.NS, c.K = 8, 64, 8192, 128, 16, 5
	default:
		return Config{}, fmt.Errorf("config: there is no profile %q; the profiles are %s", name, strings.Join(Profiles(), ", "))
	}
	c.Name = strings.TrimPrefix(name, "quila-")
	return c, nil
}

// common is what the profiles share: the shape of micro, and the values of
// section 1.12.
func common() Config {
	return Config{
		N: 64, D: 64, H: 32, A: 8, S: 4, Kappa: 4, R: 4, D1: 8, D2: 8, Deg: 8, Thinkers: 2, KP: 16, V: 512, Modalities: 4,
		DE: 64, NS: 4, K: 2, G: 8,

		SSM: "window", Aggr: "sigmoid", WKV: "literal", NormIn: true, RhoOn: true, DRCMax: 16, Refractory: true, MHCGrad: "centred",
		KFEClip: true, KFEGain: 1, WMax: 2, SinkhornN: 20, KMax: 4, RefBase: 4, RefRange: 3, RopeDims: 0, Tau: 1, MHCInit: 1.5,
		CM: "song", Streams: "ABCD",

		MHC: "sinkhorn", Credit: "characteristic", ParamDType: "f16", Numerics: "fp32",

		ActiveCap: .19, WaitMax: 8, PartialSendThreshold: .5, ThermalScale: .1, FXAARaw: -2, RhoRaw: -4, UtilityEMA: .9, ConfT: 1, InitConf: .5,
		KFETopK: 32, KFEMerge: .97, KFEAlpha: .5, KFEBeta: .5, KFEGamma: .6, LRKFE: .1, LRKFEReplay: .01, KFEIdle: 8, KFEPage: 256,
		HNSWM: 16, HNSWEFC: 200, HNSWEF: 64, HNSWExactBelow: 2000, HNSWCompact: .2,
		EvictW: [4]float64{.4, .2, .2, .2}, LambdaRecency: .001, SoftDeleteBelow: .05, PromotionThreshold: 4, PromotionWindow: 16, EvictLR: .01, EvictMemory: 64,
		CMSecond: .4, CMNoise: .01, CMSigmaMax: 2, CMEMALow: .95, CMEMAHigh: .999, CMPoints: 18,
		Block: 64, ThetaLow: .3, ThetaHigh: .7, ThetaLowReread: .3, ThetaHiReread: .7, Candidates: 1024, ComplexityOne: .25, ComplexityTwo: .5,
		WMQHot: 512, WMQCold: 4096, WMEnqueue: .3, UtilityDealloc: 1, WMQTopK: 8, WMQWindow: 64, StageDrop: .5, MaxStepsStage: 64, MaxTimeStage: 30, RelevanceEMA: .9,
		UFork: .5, UTool: .7, UReplan: .85, ForkSteps: 8, PollInterval: 8, ThetaEntropy: 2, ThetaDrift: .5, Ring: 16,
		Penalty: .5, Recovery: .1, ExitTicks: 4, RuleInsert: .8, RuleDead: .1, BoostTicks: 8,
		LambdaMin: .8, LambdaMax: .999, LambdaInit: .95, EtaLambda: 1e-3, WOsc: 16, Damping: .8, DampingWindow: 64,
		Growth: 3, MaxNewEdges: .001, InDegreeCap: 2, Prune: 1e-3, PruneWindow: 50, ClusterBonus: .5, TargetCoverage: .25, Diversity: .1, LouvainRerun: .05,
		RewardBase: 1, TokenExcess: .001, Halluc: 2, ReplanCost: .1, SuccessTarget: .5, ExternalFrom: .7, ExternalTo: .2, ExternalEpisodes: 10000, SuccessRaise: .6, Regression: .95,
		Commitment: .25, VQEMA: .99, DeadBatches: 200, BaseText: 10000, BaseTime: 10000, BaseRow: 100, BaseCol: 100, BaseFreq: 100,
		TrainPorts: "all", EngramBits: 24, PersonaDim: 64, PersonaGate: -4,
	}
}

// Literal sets the options that follow the letter of the specification where
// the default departs from it. It serves comparisons, not quality.
func (c *Config) Literal() {
	c.SSM, c.Aggr, c.WKV, c.NormIn, c.RhoOn, c.Refractory = "window", "sigmoid", "literal", false, true, true
	c.RhoRaw = 50 // the logistic of it is 1
	c.MHCGrad, c.Credit, c.KFEGain, c.KFEClip, c.PairwiseMean = "plain", "literal", 1, false, true
	c.CodeBias, c.WMQRead, c.RopeDims = false, false, -1
}

// Training sets the options that a nano is trained with: a bias per code, and
// Thinkers that read their queue.
func (c *Config) Training() { c.CodeBias, c.WMQRead = true, true }
