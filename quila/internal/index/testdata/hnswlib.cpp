// Runs hnswlib on what the tests ask, a command a line:
//
//	build SPACE DIM N DATA EF_CONSTRUCTION IMAGE   prints seconds of insertion
//	load SPACE DIM IMAGE                           prints how many elements
//	search N QUERIES K EF LABELS                   prints seconds
//
// DATA and QUERIES are rows of float32, LABELS gets K uint64 a query, the nearest
// first.
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <hnswlib/hnswlib.h>

using Clock = std::chrono::steady_clock;
using Index = hnswlib::HierarchicalNSW<float>;

static std::unique_ptr<hnswlib::SpaceInterface<float>> space;
static std::unique_ptr<Index> graph;
static size_t dim;

static std::vector<float> read(const std::string &path, size_t rows) {
	std::vector<float> v(rows * dim);
	std::ifstream in(path, std::ios::binary);
	if (!in.read(reinterpret_cast<char *>(v.data()), v.size() * sizeof(float))) throw std::runtime_error("cannot read " + path);
	return v;
}

static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

static void open(const std::string &name) {
	if (name == "l2") space.reset(new hnswlib::L2Space(dim));
	else space.reset(new hnswlib::InnerProductSpace(dim));
}

static void run(const std::string &command) {
	std::string name, path, out;
	size_t n, k, ef;
	if (command == "build") {
		std::cin >> name >> dim >> n >> path >> ef >> out;
		open(name);
		auto data = read(path, n);
		graph.reset(new Index(space.get(), n, 16, ef));
		auto start = Clock::now();
		for (size_t i = 0; i < n; i++) graph->addPoint(&data[i * dim], i);
		double seconds = since(start);
		if (out != "-") graph->saveIndex(out);
		std::cout << seconds << std::endl;
	} else if (command == "load") {
		std::cin >> name >> dim >> path;
		open(name);
		graph.reset(new Index(space.get(), path));
		std::cout << graph->cur_element_count << std::endl;
	} else if (command == "search") {
		std::cin >> n >> path >> k >> ef >> out;
		auto queries = read(path, n);
		std::vector<uint64_t> labels(n * k, ~uint64_t(0));
		graph->setEf(ef);
		auto start = Clock::now();
		for (size_t i = 0; i < n; i++) {
			auto found = graph->searchKnn(&queries[i * dim], k);
			for (size_t j = found.size(); j-- > 0; found.pop()) labels[i * k + j] = found.top().second;
		}
		double seconds = since(start);
		std::ofstream(out, std::ios::binary).write(reinterpret_cast<char *>(labels.data()), labels.size() * 8);
		std::cout << seconds << std::endl;
	} else {
		throw std::runtime_error("unknown command " + command);
	}
}

int main() try {
	for (std::string command; std::cin >> command;) run(command);
} catch (std::exception &e) {
	std::cerr << e.what() << std::endl;
	return 1;
}
