"""assay.rl inside the trainers that people use. Each module adapts one of them and imports it on
import; what was tested stands in its TESTED."""
