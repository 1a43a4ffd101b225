"""What measured progress changes for the market: two clusters, kernels that their memories slow down."""
