"""What a board's build is made of, derived from its floorplan (`hw/vivado/boards.yaml`) and the measured areas."""
