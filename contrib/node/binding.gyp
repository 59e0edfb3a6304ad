{
  "targets": [
    {
      "target_name": "sfid",
      "sources": ["sfid.c"],
      "cflags": ["-std=gnu11", "-Wall", "-Wextra", "<!@(pkg-config --cflags sfid)"],
      "libraries": ["<!@(pkg-config --libs sfid)"]
    }
  ]
}
