module sfid

go 1.19
